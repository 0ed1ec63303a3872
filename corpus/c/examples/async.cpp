// A sum in three parts, each by std::async.
// expect: holds
#include <cassert>
#include <future>
#include <mutex>
#include <numeric>
#include <vector>

static std::mutex lock;
static int parts;

static int sum(std::vector<int>::const_iterator from, std::vector<int>::const_iterator to) {
    std::lock_guard<std::mutex> guard(lock);
    parts++;
    return std::accumulate(from, to, 0);
}

int main() {
    std::vector<int> numbers(90);
    std::iota(numbers.begin(), numbers.end(), 1);
    auto first = std::async(std::launch::async, sum, numbers.cbegin(), numbers.cbegin() + 30);
    auto second = std::async(std::launch::async, sum, numbers.cbegin() + 30, numbers.cbegin() + 60);
    int third = sum(numbers.cbegin() + 60, numbers.cend());
    assert(first.get() + second.get() + third == 90 * 91 / 2);
    assert(parts == 3);
}
