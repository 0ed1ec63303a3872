//! The attribute `#[selvedge::test]`. It needs so little of Rust's grammar that it reads the tokens itself.

#![forbid(unsafe_code)]

use proc_macro::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};

/// Makes a function a test that checks its body: `#[selvedge::test]` or, with settings that are methods of
/// `Checker`, `#[selvedge::test(preemptions = 3, race_mode)]`.
#[proc_macro_attribute]
pub fn test(settings: TokenStream, item: TokenStream) -> TokenStream {
    match expand(settings, item) {
        Ok(tokens) => tokens,
        Err((span, message)) => error(span, &message),
    }
}

fn expand(settings: TokenStream, item: TokenStream) -> Result<TokenStream, (Span, String)> {
    let tokens: Vec<TokenTree> = item.into_iter().collect();
    let is_word =
        |token: &TokenTree, word: &str| matches!(token, TokenTree::Ident(ident) if ident.to_string() == word);
    let function = tokens.iter().position(|token| is_word(token, "fn")).ok_or_else(|| {
        (Span::call_site(), "#[selvedge::test] goes on a function: `fn name() { ... }`".to_string())
    })?;
    if let Some(token) = tokens[..function].iter().find(|token| is_word(token, "async")) {
        let message =
            "#[selvedge::test] goes on a function that is not async; use selvedge::future::block_on in it";
        return Err((token.span(), message.into()));
    }
    let (Some(name), Some(TokenTree::Group(parameters))) =
        (tokens.get(function + 1), tokens.get(function + 2))
    else {
        return Err((tokens[function].span(), "expected `fn name() { ... }`".into()));
    };
    if !parameters.stream().is_empty() {
        return Err((parameters.span(), "a test takes no parameters".into()));
    }
    let Some(TokenTree::Group(body)) = tokens
        .last()
        .filter(|token| matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace))
    else {
        return Err((name.span(), "expected a body: `fn name() { ... }`".into()));
    };
    if tokens.len() > function + 4 {
        return Err((tokens[function + 3].span(), "a checked test returns nothing".into()));
    }

    let mut call: TokenStream = "::selvedge::Checker::new()".parse().expect("valid tokens");
    for setting in split(settings) {
        call.extend(method(setting)?);
    }
    let closure: TokenStream = "move ||".parse().expect("valid tokens");
    let mut argument = closure;
    argument.extend([TokenTree::Group(body.clone())]);
    let check: TokenStream = ".check".parse().expect("valid tokens");
    call.extend(check);
    call.extend([TokenTree::Group(Group::new(Delimiter::Parenthesis, argument))]);

    let mut output: TokenStream = "#[::core::prelude::v1::test]".parse().expect("valid tokens");
    output.extend(tokens[..function + 3].iter().cloned());
    output.extend([TokenTree::Group(Group::new(Delimiter::Brace, call))]);
    Ok(output)
}

/// The settings, separated by commas.
fn split(settings: TokenStream) -> Vec<Vec<TokenTree>> {
    let mut parts = vec![Vec::new()];
    for token in settings {
        if matches!(&token, TokenTree::Punct(punct) if punct.as_char() == ',') {
            parts.push(Vec::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(token);
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// `name = value` as `.name(value)`, and `name` as `.name()`.
fn method(setting: Vec<TokenTree>) -> Result<TokenStream, (Span, String)> {
    let mut tokens = setting.into_iter();
    let expected = "expected a setting of Checker: `preemptions = 3` or `race_mode`";
    let Some(TokenTree::Ident(name)) = tokens.next() else {
        return Err((Span::call_site(), expected.into()));
    };
    let arguments = match tokens.next() {
        None => TokenStream::new(),
        Some(TokenTree::Punct(punct)) if punct.as_char() == '=' => tokens.collect(),
        Some(other) => return Err((other.span(), expected.into())),
    };
    let mut call: TokenStream = ".".parse().expect("valid tokens");
    call.extend([
        TokenTree::Ident(Ident::new(&name.to_string(), name.span())),
        TokenTree::Group(Group::new(Delimiter::Parenthesis, arguments)),
    ]);
    Ok(call)
}

/// A compile error at a place.
fn error(span: Span, message: &str) -> TokenStream {
    let mut tokens: TokenStream =
        format!("::core::compile_error!{{ {message:?} }}").parse().expect("valid tokens");
    tokens = tokens
        .into_iter()
        .map(|mut token| {
            token.set_span(span);
            token
        })
        .collect();
    tokens
}
