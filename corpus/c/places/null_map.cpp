// A crash in what C++'s library does for a program.
#include <map>

static std::map<int, int> *none() {
    return nullptr;
}

int main() {
    return (*none())[1]; // the crash
}
