#!/usr/bin/env bash
# A short tour on the real binary: each line that starts with $ is what is run, what follows is what it prints.
set -uo pipefail

belljar=$(realpath "${BELLJAR:?set BELLJAR to the binary, or run make demo}")
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
cd "$room" || exit 1
bold='' dim='' plain=''
if [[ -t 1 && -z ${NO_COLOR:-} ]]; then bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'; fi
surprises=0

# quoted ARGS...: as one would type them.
quoted() {
    local arg
    for arg in "$@"; do
        if [[ $arg =~ ^[A-Za-z0-9./=_-]+$ ]]; then printf ' %s' "$arg"; else printf " '%s'" "$arg"; fi
    done
}

# show CODES TITLE ARGS...: runs belljar with ARGS and holds its exit code against those that the tour expects.
show() {
    local expected=$1 title=$2 code=0
    shift 2
    printf '\n%s%s%s\n%s$ belljar%s%s\n' "$bold" "$title" "$plain" "$dim" "$(quoted "$@")" "$plain"
    "$belljar" "$@" </dev/null || code=$?
    printf '%s(exit code %d)%s\n' "$dim" "$code" "$plain"
    if [[ " $expected " != *" $code "* ]]; then
        printf 'the tour expected exit code %s\n' "$expected" >&2
        surprises=$((surprises + 1))
    fi
}

show 0 'A snippet runs in a room of its own' run -c 'import sys; print("hello from Python", sys.version.split()[0])'
show 0 'The host is not there: these are the jar'\''s own users' run -c 'print(open("/etc/passwd").read(), end="")'
show 0 'nor its processes, nor its environment' run -c 'import os; print(sorted(os.listdir("/proc"), key=len)[:2], os.environ["HOME"], os.getuid())'
show 1 'There is no network, and the error says how to get one' run -c 'import socket; socket.create_connection(("192.0.2.1", 80), 2)'
# Without a cgroup the limit is one of each process, and Python gets to raise a MemoryError.
show '137 1' 'Memory is bounded' run --memory 256M -c 'x = bytearray(10 << 30)'
show 124 'Time is bounded, whatever the code catches' run --timeout 1s -c '
while True:
    try:
        while True: pass
    except BaseException: pass'
show 0 'What it leaves in its folder can be collected' run --collect out -c 'open("answer.txt", "w").write("42\n")'
printf '%s$ cat out/answer.txt%s\n' "$dim" "$plain"
cat out/answer.txt || surprises=$((surprises + 1))
mkdir project && echo 'version = 1' >project/settings.toml
show 0 'A draft: the code may change the folder, the folder stays as it was' run --workdir project --draft -c '
import pathlib
pathlib.Path("settings.toml").write_text("version = 2\n")
pathlib.Path("notes.md").write_text("new\n")'
printf '%s$ cat project/settings.toml%s\n' "$dim" "$plain"
cat project/settings.toml
grep -qx 'version = 1' project/settings.toml || surprises=$((surprises + 1))

if ((surprises)); then
    printf '\n%d surprises: `belljar doctor` tells what this machine can enforce\n' "$surprises" >&2
    exit 1
fi
printf '\n%sThat was belljar.%s Next: %s doctor, README.md\n' "$bold" "$plain" "$BELLJAR"
