#!/bin/sh
# snarkjs 0.7.6: `zkey export solidityverifier` of a key over BLS12-381 writes a contract that checks BN254's equation.
#
# The command reports success. The contract has the field sizes and the pairing precompile (address 8) of BN254, beside
# constants of BLS12-381, which need 48 bytes: solc 0.8.37 refuses 18 of them as too large for uint256. `zkey export
# verificationkey` of the same key says bls12381, and `groth16 verify` works with it.
#
# Seen: "the key is over bls12381; exit code 0; the contract's q is BN254's; errors of solc: 18".
# Needs npm. Exit status: 0 while this is so, 1 when it changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null 2>&1
npm install --silent snarkjs@0.7.6 circom2@0.2.23 solc@0.8.37 >/dev/null 2>&1
cat > square.circom <<'CIRCOM'
pragma circom 2.0.0;
template Square() { signal input a; signal output b; b <== a * a; }
component main = Square();
CIRCOM
npx circom2 square.circom --r1cs --prime bls12381 >/dev/null 2>&1
snarkjs="node_modules/.bin/snarkjs"
{
    $snarkjs powersoftau new bls12-381 4 first.ptau
    $snarkjs powersoftau contribute first.ptau second.ptau --name=one -e="some words"
    $snarkjs powersoftau prepare phase2 second.ptau last.ptau
    $snarkjs groth16 setup square.r1cs last.ptau square.zkey
    $snarkjs zkey export verificationkey square.zkey key.json
} >/dev/null 2>&1
code=0
$snarkjs zkey export solidityverifier square.zkey verifier.sol >/dev/null 2>&1 || code=$?
cat > judge.cjs <<'JAVASCRIPT'
const fs = require("node:fs");
const solc = require("solc");

const content = fs.readFileSync("verifier.sol", "utf8");
const settings = { outputSelection: { "*": { "*": ["evm.bytecode"] } } };
const made = solc.compile(JSON.stringify({ language: "Solidity", sources: { verifier: { content } }, settings }));
const errors = JSON.parse(made).errors.filter((one) => one.severity === "error");
const bn254 = "21888242871839275222246405745257275088696311157297823662689037894645226208583";
const whose = new RegExp(`constant q *= ${bn254};`).test(content) ? "BN254's" : "another's";
const { curve } = JSON.parse(fs.readFileSync("key.json"));
const [code] = process.argv.slice(2);
console.log(`the key is over ${curve}; exit code ${code}; the contract's q is ${whose}; errors of solc: ${errors.length}`);
JAVASCRIPT
node judge.cjs "$code" > found
cat found
[ "$(cat found)" = "the key is over bls12381; exit code 0; the contract's q is BN254's; errors of solc: 18" ]
