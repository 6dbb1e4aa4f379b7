#!/usr/bin/env bash
# zlens-forward for Linux on Z, as one static program; with --test also the tests of its crates, on an emulated machine.
#
# Rust comes from rustup where its target s390x-unknown-linux-gnu is installed, and otherwise from Debian's packages,
# which have the sources of the standard library: it is built along. What is missing is installed with apt-get by root.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=s390x-unknown-linux-gnu
debian=(rustc-web cargo-web libstd-rust-web-dev rust-web-src)
cross=(gcc-12-s390x-linux-gnu libc6-dev-s390x-cross qemu-user-static)

std=()
if [ ! -d "$(rustc --print target-libdir --target $target 2>/dev/null)" ]; then
    export PATH=/usr/bin:/bin RUSTC_BOOTSTRAP=1
    std=(-Zbuild-std=std,test,panic_abort,panic_unwind)
    cross+=("${debian[@]}")
fi
there() {
    command -v s390x-linux-gnu-gcc-12 qemu-s390x-static >/dev/null \
        && { [ ${#std[@]} = 0 ] || [ -d "$(rustc --print sysroot 2>/dev/null)/lib/rustlib/src/rust/library/std" ]; }
}
if ! there; then
    [ "$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq --no-install-recommends "${cross[@]}" >/dev/null
    there || { echo "zlens-forward for s390x needs Debian 12 with ${cross[*]}" >&2; exit 2; }
fi

export CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_LINKER=s390x-linux-gnu-gcc-12
export CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_RUNNER=qemu-s390x-static
export CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_RUSTFLAGS="-C target-feature=+crt-static"
export CC_s390x_unknown_linux_gnu=s390x-linux-gnu-gcc-12 AR_s390x_unknown_linux_gnu=s390x-linux-gnu-ar
# Toolchains do not share what they build.
export CARGO_TARGET_DIR=target/s390x
options=(--locked --quiet "${std[@]}" --target $target)

cargo build --profile forward "${options[@]}" --package zlens-forward --bin zlens-forward
program=$CARGO_TARGET_DIR/$target/forward/zlens-forward
echo "$program: $(stat -c %s "$program") bytes, $(qemu-s390x-static "$program" --version)"
if [ "${1:-}" = --test ]; then
    cargo test --profile develop "${options[@]}" --package zlens-frames --package zlens-columns --package zlens-forward
fi
