// Races in what C++'s library does for a program: the first argument says with what.
#include <cstdlib>
#include <map>
#include <memory>
#include <thread>
#include <vector>

static int which;
static std::vector<int> numbers;
static std::map<int, int> table;
static std::shared_ptr<int> pointer;

static void change() {
    if (which == 0)
        numbers.push_back(1); // vector
    if (which == 1)
        table[2] = 3; // map
    if (which == 2)
        pointer = std::make_shared<int>(4); // pointer
}

int main(int, char **arguments) {
    which = atoi(arguments[1]);
    std::thread thread(change);
    change();
    thread.join();
}
