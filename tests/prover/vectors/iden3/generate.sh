#!/bin/sh
# Makes every other file of this directory anew: other secrets, other files, the same formats.
set -eu
cd "$(dirname "$0")"
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
npm install --no-audit --no-fund --ignore-scripts --prefix "$tools" circom2@0.2.23 snarkjs@0.7.6
circom2="$tools/node_modules/.bin/circom2"
snarkjs="$tools/node_modules/.bin/snarkjs"

"$circom2" circuit.circom --r1cs --wasm --prime bls12381 --output "$tools"
cp "$tools/circuit.r1cs" .
echo '{"x": "3", "k": "7"}' > "$tools/input.json"
"$snarkjs" wtns calculate "$tools/circuit_js/circuit.wasm" "$tools/input.json" witness.wtns

# 2^3 rows are exactly what the circuit takes: the power of tau beyond the last is missing.
"$snarkjs" powersoftau new bls12381 3 "$tools/0.ptau"
"$snarkjs" powersoftau contribute "$tools/0.ptau" "$tools/1.ptau" --name=first --entropy="$(head -c 32 /dev/urandom | xxd -p)"
"$snarkjs" powersoftau beacon "$tools/1.ptau" powers.ptau 0102030405060708090a0b0c0d0e0f10 10 --name=beacon
"$snarkjs" powersoftau prepare phase2 powers.ptau "$tools/prepared.ptau"
"$snarkjs" groth16 setup circuit.r1cs "$tools/prepared.ptau" "$tools/0.zkey"
"$snarkjs" zkey contribute "$tools/0.zkey" key.zkey --name=first --entropy="$(head -c 32 /dev/urandom | xxd -p)"
"$snarkjs" zkey export verificationkey key.zkey verification_key.json
"$snarkjs" groth16 prove key.zkey witness.wtns proof.json public.json
"$snarkjs" groth16 verify verification_key.json public.json proof.json
