// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.25;

/// @title Which committed models there are, under which key each answers, and who said so when
/// @notice Anybody registers; entries are kept by who made them, so that nobody can take another's place.
contract ModelRegistry {
    struct Model {
        /// The contract that verifies this model's proofs.
        address verifier;
        /// SHA-256 of the model's receipt (docs/verifying.md).
        bytes32 receipt;
        uint64 registeredAt;
    }

    error AlreadyRegistered(address owner, bytes32 commitment);
    error NotAContract(address verifier);

    event Registered(address indexed owner, bytes32 indexed commitment, address verifier, bytes32 receipt);

    /// By owner, and by the keccak256 of the commitment to the weights, 128 bytes (`ZenServeVerifier.commitment`).
    mapping(address owner => mapping(bytes32 commitment => Model)) public models;

    function register(bytes32 commitment, address verifier, bytes32 receipt) external {
        if (models[msg.sender][commitment].verifier != address(0)) revert AlreadyRegistered(msg.sender, commitment);
        if (verifier.code.length == 0) revert NotAContract(verifier);
        models[msg.sender][commitment] = Model(verifier, receipt, uint64(block.timestamp));
        emit Registered(msg.sender, commitment, verifier, receipt);
    }
}
