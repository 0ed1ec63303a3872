#!/usr/bin/env bash
# Runs every check: format, lints, documentation, tests. Sets up what it needs; what it cannot set up it
# skips, and says so by name. With SELVEDGE_REQUIRE_ORACLES=1 such a skip is a failure.
set -u
cd "$(dirname "$0")" || exit 1

require=${SELVEDGE_REQUIRE_ORACLES:-0}
skipped=()
failed=()

skip() {
    echo "SKIPPED: $1"
    skipped+=("$1")
}

# Runs a step and remembers whether it failed.
step() {
    local name=$1
    shift
    echo "== $name"
    "$@" || failed+=("$name")
}

# Installs a Debian package that provides a command, where that is possible.
oracle() {
    local command=$1 package=$2
    command -v "$command" >/dev/null && return
    if command -v apt-get >/dev/null; then
        local sudo=""
        [ "$(id -u)" = 0 ] || sudo="sudo -n"
        if [ "${apt_updated:-0}" = 0 ]; then
            $sudo apt-get update -qq >/dev/null 2>&1
            apt_updated=1
        fi
        DEBIAN_FRONTEND=noninteractive $sudo apt-get install -qq -y --no-install-recommends "$package" >/dev/null 2>&1
    fi
    command -v "$command" >/dev/null || skip "$command could not be installed: tests that ask it are skipped"
}

# Outside oracles that tests ask: Spin, and the C compiler that it needs for a search.
oracle spin spin
oracle gcc gcc
# C and C++ programs are compiled in tests, and some of Debian's are checked as they are.
oracle g++ g++
oracle clang clang
oracle pigz pigz
oracle pbzip2 pbzip2
# For GLib itself, which comes with it.
oracle gio libglib2.0-bin

if cargo fmt --version >/dev/null 2>&1; then
    step "format" cargo fmt --all --check
else
    skip "cargo fmt is not installed (rustup component add rustfmt)"
fi
if cargo clippy --version >/dev/null 2>&1; then
    step "lints" cargo clippy -q --workspace --all-targets -- -D warnings
else
    skip "cargo clippy is not installed (rustup component add clippy)"
fi
step "documentation" env RUSTDOCFLAGS="-D warnings" cargo doc -q --workspace --no-deps --document-private-items
step "tests" cargo test -q --workspace

echo
for name in ${skipped[@]+"${skipped[@]}"}; do
    echo "SKIPPED: $name"
done
if [ ${#failed[@]} -gt 0 ]; then
    printf 'FAILED: %s\n' "${failed[@]}"
    exit 1
fi
if [ "$require" = 1 ] && [ ${#skipped[@]} -gt 0 ]; then
    echo "FAILED: nothing may be skipped here"
    exit 1
fi
echo "All passed."
