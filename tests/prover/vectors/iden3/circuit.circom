pragma circom 2.0.0;

// y = x^3 + k x + 5: x private, k public, y the output.
template Cubic() {
    signal input x;
    signal input k;
    signal output y;
    signal square;
    signal cube;
    square <== x * x;
    cube <== square * x;
    y <== cube + k * x + 5;
}

component main {public [k]} = Cubic();
