#!/usr/bin/env bash
# Runs a scenario of the rig on a real z/VM system, driven from a guest that you reach with ssh:
#
#     zlens rig run my-scenario.toml --runner 'command:examples/rig-on-zvm.sh {scenario} {out}'
#
# It expects on the guest a program `run-scenario` of your site. It gets the scenario on standard input, logs on or
# tunes the users (SET SHARE, DEFINE CPUPOOL), lets them work, records with MONWRITE, and prints the MONWRITE file in
# binary when it is done. What it prints on standard error ends in the log beside the data.
set -euo pipefail
scenario=$1 out=$2
host=${RIG_HOST:?name the guest: RIG_HOST=user@guest}
# A file appears under its name when it is complete, so that an interrupted run is made again.
ssh -o BatchMode=yes "$host" run-scenario < "$scenario" > "$out.part"
mv "$out.part" "$out"
