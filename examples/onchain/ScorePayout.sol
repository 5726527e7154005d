// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.25;

import {ModelRegistry} from "./ModelRegistry.sol";

interface IVerifier {
    function KEY_DIGEST() external view returns (bytes32);
    function verify(bytes calldata proof, uint256[] calldata inputs) external view returns (bool);
    function commitment(bytes calldata proof, uint256 index) external pure returns (bytes32);
}

/// @title Pays once, to whoever shows that the score of a registered model reaches a threshold
/// @notice The proof shows that the committed model gives some hidden input a score of at least the threshold. Its
///         statement begins with the payee's address as the challenge, so that nobody can use a proof that was seen
///         in another's transaction.
contract ScorePayout {
    /// Public inputs of such a proof: the statement, the threshold in steps of the score's scale, and whether it is
    /// reached.
    uint256 private constant THRESHOLD = 1;
    uint256 private constant REACHED = 2;
    uint256 private constant INPUTS = 3;

    IVerifier public immutable verifier;
    bytes32 public immutable model;
    uint256 public immutable threshold;
    bool public paid;

    error NotRegistered();
    error OtherKey(bytes32 digest);
    error OtherInputs(uint256 count);
    error AlreadyPaid();
    error OtherModel(bytes32 commitment);
    error OtherStatement();
    error NotForCaller();
    error BelowThreshold();
    error NotValid();
    error NotPaid();

    /// @param owner Who registered the model.
    /// @param model_ The keccak256 of the commitment to the weights.
    /// @param key The SHA-256 of the verifying key: of a circuit that shows a threshold and nothing else. Under the key
    ///        of another circuit whoever claims may choose what stands in the threshold's place.
    constructor(ModelRegistry registry, address owner, bytes32 model_, uint256 threshold_, bytes32 key) payable {
        (address found,,) = registry.models(owner, model_);
        if (found == address(0)) revert NotRegistered();
        verifier = IVerifier(found);
        if (verifier.KEY_DIGEST() != key) revert OtherKey(verifier.KEY_DIGEST());
        model = model_;
        threshold = threshold_;
    }

    /// @param statement The proof's statement as canonical JSON (docs/formats.md).
    function claim(bytes calldata statement, bytes calldata proof, uint256[] calldata inputs) external {
        if (paid) revert AlreadyPaid();
        if (inputs.length != INPUTS) revert OtherInputs(inputs.length);
        bytes32 found = verifier.commitment(proof, 0);
        if (found != model) revert OtherModel(found);
        if (!verifier.verify(proof, inputs)) revert NotValid();
        if (uint256(sha256(statement)) >> 8 != inputs[0]) revert OtherStatement();
        if (!beginsWithCaller(statement)) revert NotForCaller();
        if (inputs[THRESHOLD] != threshold || inputs[REACHED] != 1) revert BelowThreshold();
        paid = true;
        (bool sent,) = msg.sender.call{value: address(this).balance}("");
        if (!sent) revert NotPaid();
    }

    /// Whether the first field of the statement is the caller's address: `{"challenge":"0x…",`, in lower case.
    function beginsWithCaller(bytes calldata statement) private view returns (bool) {
        bytes memory expected = abi.encodePacked("{\"challenge\":\"0x", hexOf(msg.sender), "\",");
        uint256 length = expected.length;
        return statement.length >= length && keccak256(statement[:length]) == keccak256(expected);
    }

    function hexOf(address account) private pure returns (bytes memory digits) {
        digits = new bytes(40);
        for (uint256 i = 0; i < 40; ++i) {
            uint256 nibble = (uint160(account) >> (4 * (39 - i))) & 15;
            digits[i] = bytes1(uint8(nibble < 10 ? 48 + nibble : 87 + nibble));
        }
    }
}
