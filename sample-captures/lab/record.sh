#!/bin/sh
# Records the sample captures. Needs root, because it makes network namespaces and reads the kernel's trace.
#
#   sample-captures/lab/record.sh            records all samples (about three minutes)
#   sample-captures/lab/record.sh NAME...    records these
#   sample-captures/lab/record.sh --list     prints the names
set -eu

lab=$(cd "$(dirname "$0")" && pwd)

if [ "${1:-}" != --list ]; then
    if [ "$(id -u)" != 0 ]; then
        echo "record.sh: needs root" >&2
        exit 2
    fi
    for tool in python3 ip tcpdump nft nginx openssl java javac; do
        if ! command -v "$tool" >/dev/null; then
            echo "record.sh: needs $tool" >&2
            exit 2
        fi
    done
    if [ ! -d /sys/kernel/tracing/instances ]; then
        mount -t tracefs nodev /sys/kernel/tracing
    fi
fi

PYTHONDONTWRITEBYTECODE=1 exec python3 "$lab/record.py" "$@"
