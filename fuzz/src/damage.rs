//! Damaged copies of texts, the same ones each time.

/// So many copies of a text, in which pieces were removed, moved, repeated or replaced by words.
pub fn copies<'a>(text: &'a str, words: &'a [&str], count: usize) -> impl Iterator<Item = String> + 'a {
    let mut dice = Dice(text.len() as u64);
    (0..count).map(move |_| {
        let mut text: Vec<char> = text.chars().collect();
        for _ in 0..1 + dice.roll(4) {
            let at = dice.roll(text.len() + 1);
            let end = (at + dice.roll(30)).min(text.len());
            let piece: Vec<char> = match dice.roll(4) {
                0 => Vec::new(),
                1 => text[at..end].repeat(2),
                2 => words[dice.roll(words.len())].chars().collect(),
                _ => {
                    let from = dice.roll(text.len() + 1);
                    text[from..(from + dice.roll(30)).min(text.len())].to_vec()
                }
            };
            text.splice(at..end, piece);
        }
        text.into_iter().collect()
    })
}

struct Dice(u64);

impl Dice {
    /// A number below `sides`.
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides.max(1)
    }
}
