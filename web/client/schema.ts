// Written by web/schema.ts from the API's description. Do not edit: make web.

export interface Routes {
  /** A model by its id, or as NAME, NAME@VERSION, NAME@latest, and how far its registration is. */
  "GET /v1/models/{model_id}": operations["getModel"];
  /** Say whether proofs of a model are made with keys of a ceremony alone. Then one for which there is a
   * development key only, or none, is refused (`conflict.ceremony`); those that are made stay what they are. */
  "PATCH /v1/models/{model_id}": operations["changeModel"];
  /** Forget the network and what opens its commitment. Refused while there are commitments, datasets or
   * proofs of it; proofs that were handed on stay as good as they are. */
  "DELETE /v1/models/{model_id}": operations["deleteModel"];
  /** Cancel a registration: at once while it is queued, at its next progress report while it runs. */
  "POST /v1/models/{model_id}/cancel": operations["cancelModel"];
  /** Try a registration that failed once more. */
  "POST /v1/models/{model_id}/retry": operations["retryModel"];
  /** Server-sent events of the registration, as those of a proof. */
  "GET /v1/models/{model_id}/events": operations["followModel"];
  /** The models, newest first; of one name all its versions. */
  "GET /v1/models": operations["listModels"];
  /** Register a network: it is read, quantised and checked at once. A job then commits to its weights, if
   * they are to be committed, proves that they are of their types, and makes the keys of its proofs.
   *
   * Each file is sent along, or was brought before (`PUT /v1/uploads/…`) and is named by its SHA-256. Neither
   * the ONNX file nor the calibration is kept, only the quantised and the float network, encrypted. */
  "POST /v1/models": operations["createModel"];
  /** Register a model's network under another proof system, too: a model of its own, with a commitment of
   * that system, keys and a receipt, which lists the model. Proofs of either may name the `system` that they
   * are to be of. */
  "POST /v1/models/{model_id}/twins": operations["createTwin"];
  /** Return the service's signed receipt of the registration: the model, its commitment, and the time. */
  "GET /v1/models/{model_id}/receipt": operations["getReceipt"];
  /** The proof that what the model's commitment is to is a network of its architecture. */
  "GET /v1/models/{model_id}/registration": operations["getRegistration"];
  /** Return the network that the model's circuits can be compiled from.
   *
   * Weights and biases are blanked where they are committed. The model's `network` is the file's SHA-256. */
  "GET /v1/models/{model_id}/architecture": operations["getArchitecture"];
  /** Return the quantisation report, layer by layer, with plots: one file of HTML without scripts. */
  "GET /v1/models/{model_id}/report": operations["getReport"];
  /** The commitments, newest first. */
  "GET /v1/commitments": operations["listCommitments"];
  /** Commit to an input of a model, or to a reference: the embedding that the model makes of an image.
   *
   * The values are kept encrypted, until the commitment is deleted. To commit again makes another commitment,
   * which nobody can tell to be to the same values. */
  "POST /v1/commitments": operations["createCommitment"];
  /** A commitment, without what it is to. */
  "GET /v1/commitments/{commitment_id}": operations["getCommitment"];
  /** Forget the values and what opens the commitment. Proofs that are out stay valid; those without a setup
   * that were asked for and not begun fail (`conflict.changed`). */
  "DELETE /v1/commitments/{commitment_id}": operations["deleteCommitment"];
  /** Return the opening of the commitment.
   *
   * The opening proves the committed values to those who are shown them. It is as secret as the values: with
   * it, guesses can be checked. The audit log notes who fetched it. */
  "GET /v1/commitments/{commitment_id}/opening": operations["getCommitmentOpening"];
  /** A dataset: its size, its shards' commitments and, if it is public, its hash and what opens them. */
  "GET /v1/datasets/{dataset_id}": operations["getDataset"];
  /** Forget the samples and what opens their commitments. Refused while a job needs them; proofs that are
   * done stay. */
  "DELETE /v1/datasets/{dataset_id}": operations["deleteDataset"];
  /** Cancel the commitment to a dataset: at once while it is queued, at its next progress report while it runs. */
  "POST /v1/datasets/{dataset_id}/cancel": operations["cancelDataset"];
  /** Try to commit to a dataset once more, after that failed. */
  "POST /v1/datasets/{dataset_id}/retry": operations["retryDataset"];
  /** Server-sent events of a dataset's commitment, as those of a proof. */
  "GET /v1/datasets/{dataset_id}/events": operations["followDataset"];
  /** The datasets, newest first. */
  "GET /v1/datasets": operations["listDatasets"];
  /** Add labelled samples, or samples with targets, for a registered model: they are checked at once, then
   * committed as a job.
   *
   * The model must be registered before: its commitment is on record as older than the choice of the samples.
   * One proof is about `shard_size` of them; as many as fit the memory, unless given. Each file is sent along,
   * or was brought before (`PUT /v1/uploads/…`) and is named by its SHA-256. */
  "POST /v1/datasets": operations["createDataset"];
  /** Return the opening of the dataset's commitments, for its owner to hand on.
   *
   * The opening proves to those who hold the dataset that the shards' commitments are to it. The opening of a
   * private dataset is secret: with it, guesses can be checked. The audit log notes who fetched it. */
  "GET /v1/datasets/{dataset_id}/opening": operations["getDatasetOpening"];
  /** A proof, and how far it is. */
  "GET /v1/proofs/{proof_id}": operations["getProof"];
  /** Forget a proof that is over. Copies that were handed on stay as good as they are. */
  "DELETE /v1/proofs/{proof_id}": operations["deleteProof"];
  /** Cancel a proof: at once while it is queued or waits for shards, which are canceled with it; at its next
   * stage or progress report while it runs.
   * Canceling again is no error; canceling what is over is a conflict. */
  "POST /v1/proofs/{proof_id}/cancel": operations["cancelProof"];
  /** Try a proof that failed once more, while its input is still there; of a proof of accuracy, the shards
   * that did not succeed. */
  "POST /v1/proofs/{proof_id}/retry": operations["retryProof"];
  /** Server-sent events: `progress` with the proof's state whenever it changes, and `end` when it is over;
   * the `id` of each is the revision.
   *
   * Every stream begins with the present state. With `Last-Event-ID` it tells first what was missed: each
   * change of state or stage since that revision, as a `milestone`. */
  "GET /v1/proofs/{proof_id}/events": operations["followProof"];
  /** The proofs, newest first; those of frames of streams if they are asked for. */
  "GET /v1/proofs": operations["listProofs"];
  /** Prove what the model makes of an input, by scheme: its label (`inference`), its distance to a reference
   * (`recognition`), that all near it have one label (`robustness`), or how much of a dataset it gets right
   * (`accuracy`). The input is checked at once, stored encrypted, and deleted when the proof is done or
   * canceled, or too long ago for it to be tried again.
   *
   * With `Prefer: wait=N` the answer comes when the proof is done, or after N seconds; the job goes on
   * either way. `deadline_seconds` says when it is to be given up. With `Prefer: dry-run` nothing is made: the
   * network is executed, the witness held against every constraint, and the answer says what the proof would
   * show and take. What would be refused is. */
  "POST /v1/proofs": operations["createProof"];
  /** The portable proof: hand it on together with the verification key it names. */
  "GET /v1/proofs/{proof_id}/proof": operations["getProofDocument"];
  /** Return the calls to the contract of the proof's key: one for each shard, with its gas.
   *
   * The contract is at `/v1/verification-keys/{id}/contract`. */
  "GET /v1/proofs/{proof_id}/calldata": operations["getCalldata"];
  /** A stream, and how far it is. */
  "GET /v1/streams/{stream_id}": operations["getStream"];
  /** Forget a stream that is over, with the proofs of its frames. Files that were handed on stay as good as
   * they are. */
  "DELETE /v1/streams/{stream_id}": operations["deleteStream"];
  /** Cancel a stream, and whichever of its frames wait or are being proven: these are missed. To let them be
   * proven, end it. */
  "POST /v1/streams/{stream_id}/cancel": operations["cancelStream"];
  /** Try to make the keys of a stream's bank once more, after that failed. */
  "POST /v1/streams/{stream_id}/retry": operations["retryStream"];
  /** The streams, newest first. */
  "GET /v1/streams": operations["listStreams"];
  /** Open a stream over a bank of registered models. Keys that are not there yet are made as a job; once its
   * stage is `frames`, it takes frames. Its course, which model each frame is for, follows from the labels
   * before: anybody recomputes it. */
  "POST /v1/streams": operations["createStream"];
  /** The frames, newest first. */
  "GET /v1/streams/{stream_id}/frames": operations["listFrames"];
  /** Hand in the next frame. Its proof is a job like any other, whose turn comes when those of all frames
   * before it are over. The same number with the same input gives the same frame, once.
   *
   * Where the backlog is full, the answer is 429: the same frame is to be sent again then. One that is not
   * proven by its deadline, or not at all, is missed, and stands in the stream's chain as that. */
  "POST /v1/streams/{stream_id}/frames": operations["createFrame"];
  /** Server-sent events: `frame` for each frame that is over, in order and from the first on, whose `id` is
   * its number; `progress` with the stream whenever it changes; `end` when it is over.
   *
   * With `Last-Event-ID` it goes on after that frame. */
  "GET /v1/streams/{stream_id}/events": operations["followStream"];
  /** Take no more frames. The stream is over once those that it has are; ending it again is no error. */
  "POST /v1/streams/{stream_id}/end": operations["endStream"];
  /** The whole stream as far as its frames are over, in one portable file: with the verification keys that
   * it names, anybody judges it. */
  "GET /v1/streams/{stream_id}/file": operations["getStreamFile"];
  /** A ceremony: how far it is, its circuits and who contributed. */
  "GET /v1/ceremonies/{ceremony_id}": operations["getCeremony"];
  /** Forget a ceremony. Keys that it made stay. */
  "DELETE /v1/ceremonies/{ceremony_id}": operations["deleteCeremony"];
  /** Cancel the opening of a ceremony. One that is open is deleted, or left alone. */
  "POST /v1/ceremonies/{ceremony_id}/cancel": operations["cancelCeremony"];
  /** Server-sent events of the opening, as those of a proof. */
  "GET /v1/ceremonies/{ceremony_id}/events": operations["followCeremony"];
  /** A contribution, and how far its verification is. */
  "GET /v1/contributions/{contribution_id}": operations["getContribution"];
  /** Cancel a contribution that is not verified yet, or the end of a ceremony. Contributors cannot: they
   * would cancel each other's. */
  "POST /v1/contributions/{contribution_id}/cancel": operations["cancelContribution"];
  /** The ceremonies, newest first. */
  "GET /v1/ceremonies": operations["listCeremonies"];
  /** Open a ceremony for the keys of a model's circuits, over the powers of tau that the model's basis
   * came from. A job computes where each key starts.
   *
   * It belongs to the tenant of the model. Opening takes the scope admin, since all models that share a
   * circuit, of whichever tenant, take its key in the end. */
  "POST /v1/ceremonies": operations["openCeremony"];
  /** A file of a ceremony: the present state of a circuit, its statement, or the powers of tau. `Range` is
   * heeded, so that what broke off can be taken up. States of before are not there any more. */
  "GET /v1/ceremonies/{ceremony_id}/files/{sha256}": operations["getCeremonyFile"];
  /** Hand in a contribution: the states that it made of the present ones, which were brought before
   * (`PUT /v1/uploads/…`). A job verifies it, and only then it is part of the ceremony. Where another was
   * faster, or is being verified, it is refused (`conflict.stale`, `conflict.contribution`): fetch the states
   * again. */
  "POST /v1/ceremonies/{ceremony_id}/contributions": operations["createContribution"];
  /** Announce the public randomness that closes a ceremony: a value that nobody knows yet. From then on no
   * contribution is taken, and the announcement stays as it is. */
  "POST /v1/ceremonies/{ceremony_id}/close": operations["closeCeremony"];
  /** Give the value that was announced. A job adds its contribution, verifies everything from the start on,
   * makes the keys, and has proofs of the circuits made with them from then on.
   *
   * Where nobody contributed to the powers of tau, the keys would say `development`: the request is refused
   * (`ceremony.no_contributions`) unless it says `"development": true`. */
  "POST /v1/ceremonies/{ceremony_id}/finish": operations["finishCeremony"];
  /** Tell whether a file is there. */
  "HEAD /v1/uploads/{sha256}": operations["headUpload"];
  /** Bring a file ahead of the request that names it (`model_sha256` and the like). It is kept encrypted
   * until that request, for a day at most. Bringing it again is no error. */
  "PUT /v1/uploads/{sha256}": operations["putUpload"];
  /** Forget a file. */
  "DELETE /v1/uploads/{sha256}": operations["deleteUpload"];
  /** Whom the service takes you for, and what you may do. */
  "GET /v1/whoami": operations["whoami"];
  /** The tenants, newest first. */
  "GET /v1/tenants": operations["listTenants"];
  /** Add a tenant. */
  "POST /v1/tenants": operations["createTenant"];
  /** A tenant. One that was deleted is there until all that it had is gone. */
  "GET /v1/tenants/{tenant_id}": operations["getTenant"];
  /** Change a tenant's name or limits. What is left out stays as it is; null is the service's own limit. */
  "PATCH /v1/tenants/{tenant_id}": operations["changeTenant"];
  /** Suspend a tenant for good, and delete what it has: keys, webhooks, uploads, jobs, proofs, datasets,
   * commitments, models, with their files, and at last the tenant. It takes a while, and there is no way back.
   * The audit log stays, and so does what it used. */
  "DELETE /v1/tenants/{tenant_id}": operations["deleteTenant"];
  /** Refuse a tenant's keys within seconds, and take none of its jobs; what runs goes on. */
  "POST /v1/tenants/{tenant_id}/suspend": operations["suspendTenant"];
  /** Let a suspended tenant in again, and take its jobs. */
  "POST /v1/tenants/{tenant_id}/resume": operations["resumeTenant"];
  /** The tenant's keys, revoked ones too, newest first; with the scope `admin`, all tenants'. */
  "GET /v1/keys": operations["listKeys"];
  /** Make a key, with no more scopes than your own. It is shown in this answer, and never again. */
  "POST /v1/keys": operations["createKey"];
  /** Revoke a key: within seconds, nothing accepts it. To revoke it again is no error. */
  "DELETE /v1/keys/{key_id}": operations["revokeKey"];
  /** List the resource use of the tenant's jobs that ended in this time, deleted jobs included.
   *
   * With the scope `admin`, list that of all tenants. */
  "GET /v1/usage": operations["listUsage"];
  /** `/v1/usage` as comma-separated values, with a line of names at the top. */
  "GET /v1/usage.csv": operations["exportUsage"];
  /** List the audit log, newest first: every change, every opening that was fetched, every key refused. */
  "GET /v1/audit": operations["listAudit"];
  /** The tenant's webhooks, all of them, newest first. */
  "GET /v1/webhooks": operations["listWebhooks"];
  /** Tell an address when models, datasets and proofs are over. The secret is in this answer, and never
   * shown again. */
  "POST /v1/webhooks": operations["createWebhook"];
  /** A webhook, without its secret. */
  "GET /v1/webhooks/{webhook_id}": operations["getWebhook"];
  /** Delete a webhook, what it was still to be told, and its log. */
  "DELETE /v1/webhooks/{webhook_id}": operations["deleteWebhook"];
  /** Sign with another secret, which is in this answer and never shown again. For a day messages carry two
   * signatures, by the new secret and by the one of before: time for the receiver to change over. */
  "POST /v1/webhooks/{webhook_id}/rotate": operations["rotateWebhook"];
  /** Send a message about nothing, `webhook.test`. */
  "POST /v1/webhooks/{webhook_id}/test": operations["testWebhook"];
  /** List the messages to a webhook of the last thirty days, newest first, with every attempt. */
  "GET /v1/webhooks/{webhook_id}/deliveries": operations["listDeliveries"];
  /** Send a message again, now, whatever became of it before: the same one, with the same `webhook-id`. */
  "POST /v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver": operations["redeliverMessage"];
  /** A verification key and what it proves. The id is the digest of both, so it can be kept for ever. */
  "GET /v1/verification-keys/{key_id}": operations["getVerificationKey"];
  /** Return the network from which the circuit of a key with committed weights can be compiled again.
   *
   * Weights and biases are blanked. The file's SHA-256 is the key's `network`, so the file needs no trust. */
  "GET /v1/verification-keys/{key_id}/architecture": operations["getArchitectureOfKey"];
  /** The Solidity source of a contract that verifies proofs under a key, for chains with the precompiles of
   * EIP-2537. It says what is proven and what is not. Keys of Groth16 alone have one. */
  "GET /v1/verification-keys/{key_id}/contract": operations["getContractOfKey"];
  /** Return the circuit, with every equation, by which proofs under a key without a setup are judged.
   *
   * The key has the circuit's digest, so the file needs no trust. `Range` is supported. */
  "GET /v1/verification-keys/{key_id}/circuit": operations["getCircuitOfKey"];
  /** The keys that this service signs receipts with, or did, the newest first. A receipt names its own. */
  "GET /v1/issuers": operations["listIssuers"];
  /** Verify a proof: what exactly it proves, in words, and what it does not. An invalid proof is a good
   * answer: 200 with `valid: false` and the reason.
   *
   * The key is the one given inline or by id, or else the one that the document names. A key that only the
   * prover vouches for proves nothing to you: compare its id with the one you trust. */
  "POST /v1/verify": operations["verifyProof"];
  /** Verify up to 64 proofs, each on its own: one that is wrong or malformed spoils none of the others.
   * Proofs under one key take a third of the time that they take one by one. */
  "POST /v1/verify/batch": operations["verifyBatch"];
  /** The process is alive. */
  "GET /healthz": operations["getHealth"];
  /** The database answers, its schema is the newest, the disks of the data directory and of the store have
   * room, a worker has lately shown life, and this process was not told to stop. */
  "GET /readyz": operations["getReadiness"];
  /** For Prometheus: from this host, or with a key whose scope is `admin`. */
  "GET /metrics": operations["getMetrics"];
  /** Return the versions, the kernels and the backends of the running service. */
  "GET /version": operations["getVersion"];
}
export interface components {
  schemas: {
    /** @description The outcome of one attempt. */
    AttemptView: {
      /**
       * Format: date-time
       * @description When it was made.
       */
      at: string;
      /** @description Of the answer; 2xx means that it arrived. */
      status?: number | null;
      /** @description Why there was no answer. */
      error?: string | null;
      /** @description How long it took. */
      seconds: number;
    };
    /** @description An entry of the audit log: the actor, the action and its target. */
    AuditView: {
      /** @description Grows with every entry. */
      id: number;
      /**
       * Format: date-time
       * @description When it was done.
       */
      at: string;
      /** @description Whose things it was done to. */
      tenant_id: string;
      /** @description A key's id, `local`, `command line`, or `nobody` for an unknown key. */
      actor: string;
      /** @description What was done. */
      action: string;
      /** @description The id of what it was done to. */
      target: string | null;
      /** @description Of the request that did it. */
      request_id: string | null;
      /** @description Where the request came from. */
      address: string | null;
    };
    /** @description Models of the same classes, the most accurate first, and each cheaper than the one before. */
    Bank: {
      /**
       * @description What this document is.
       * @default zenserve bank
       * @constant
       */
      format?: "zenserve bank";
      /**
       * @description Of its format.
       * @default 1
       */
      version?: number;
      /** @description How many its models tell apart. */
      classes: number;
      /** @description Of the samples that were profiled, of each class equally many. */
      labels: number[];
      /** @description The most accurate first. */
      models: components["schemas"]["BankModel"][];
    };
    /**
     * @description A model of a bank: a network that says the labels of its outputs, and of these with ``prior`` added.
     *
     *     ``bit``, ``margin`` and ``outputs`` are those of ``zenserve.verifier.streams.choice.Candidate``.
     */
    BankModel: {
      /** @description Null where its weights are public. */
      commitment: string | null;
      /** @description Of the proofs of its frames. */
      verification_key: string;
      /** @description Of the proofs of its batches; there where the rules have a batch. */
      batch_key?: string | null;
      /** @description What a proof costs, such as its milliseconds. */
      cost: number;
      /** @description 256 times the steps of its outputs that double the odds. */
      bit: number;
      /** @description The most steps that a prior takes off. */
      margin: number;
      /** @description Of each profiled sample, its outputs without a prior. */
      outputs: number[][];
    };
    createDatasetForm: {
      /** @description The registered model whose inputs they are: its id, or NAME, NAME@VERSION. */
      model_id: string;
      /**
       * @description Whether proofs say which dataset it is.
       * @enum {string}
       */
      privacy: "public" | "private";
      /** @description Samples `[n, *input shape]`: .npy, .npz, JSON or CSV; of several inputs an array for each by its name. */
      samples?: Blob | Uint8Array<ArrayBuffer> | null;
      /** @description Their classes `[n]`, unless the samples' file has them. */
      labels?: Blob | Uint8Array<ArrayBuffer> | null;
      /** @description In place of labels: `[n, outputs]`, what the network should say; or `[n]`. */
      targets?: Blob | Uint8Array<ArrayBuffer> | null;
      /** @description SHA-256 of an upload, in the file's place. */
      samples_sha256?: string | null;
      /** @description SHA-256 of an upload, in the file's place. */
      labels_sha256?: string | null;
      /** @description SHA-256 of an upload, in the file's place. */
      targets_sha256?: string | null;
      /**
       * @description What to call it.
       * @default unnamed
       */
      name?: string;
      /** @description What is to be measured on it: as many samples go into one proof as fit then. Unless given, accuracy, or r2. */
      measure?: ("accuracy" | "top-k" | "f1" | "mse" | "mae" | "r2" | "certified") | null;
      /** @description Samples in one proof; as many as fit unless given. */
      shard_size?: number | null;
      /** @description Of which output of the network labels or targets are, where several could be meant. */
      output?: string | null;
      /** @description A name and a value to find it by, `name=value`; 16 at most. */
      label?: string[] | null;
    };
    createModelForm: {
      /** @description An ONNX file. */
      model?: Blob | Uint8Array<ArrayBuffer> | null;
      /** @description Typical inputs `[n, *input shape]`: .npy, .npz, JSON or CSV. */
      calibration?: Blob | Uint8Array<ArrayBuffer> | null;
      /** @description One class for each, unless that file has them: shows accuracies. */
      calibration_labels?: Blob | Uint8Array<ArrayBuffer> | null;
      /** @description SHA-256 of an upload, in the file's place. */
      model_sha256?: string | null;
      /** @description SHA-256 of an upload, in the file's place. */
      calibration_sha256?: string | null;
      /** @description SHA-256 of an upload, in the file's place. */
      calibration_labels_sha256?: string | null;
      /**
       * @description What to call it.
       * @default unnamed
       */
      name?: string;
      /**
       * @description The proof system that proves what it computes.
       * @default groth16-bls12-381
       */
      system?: string;
      /** @description `committed`: proofs are about a commitment to hidden weights. `public`: whoever has a proof's key sees the weights. committed; public where the network has no weights */
      weight_privacy?: ("public" | "committed") | null;
      /**
       * @description Precision of the quantised network, or auto: of each tensor and each layer's weights as few bits as max_loss allows.
       * @default 8
       */
      bits?: number | "auto";
      /** @description Of weights; as bits unless it is given. */
      weight_bits?: number | null;
      /**
       * @description For automatic bits what may be lost on the calibration, in percent: of accuracy with labels, else of agreement with floats, or of the range of outputs that are no classes.
       * @default 1
       */
      max_loss?: number;
      /** @description The model that it is a new version of, both committed. */
      parent_id?: string | null;
      /** @description The model whose output is to be its input, of several outputs `mdl_…/name`: it then takes commitments to that output. */
      input_from?: string | null;
      /**
       * @description Use keys of a ceremony alone, its registration's too: they have to be there.
       * @default false
       */
      require_ceremony?: boolean;
      /**
       * @description Take inputs beyond the calibration as the ends of its range; else none is taken.
       * @default false
       */
      saturate?: boolean;
      /**
       * @description Take it although the file's or the integers' answers differ beyond tolerance; proofs are then made however large the difference.
       * @default false
       */
      accept_difference?: boolean;
      /** @description A name and a value to find it by, `name=value`; 16 at most. */
      label?: string[] | null;
      /** @description The size of a dimension that the file only names, `name=size`; one field for each. */
      shape?: string[] | null;
      /** @description The least and the largest integer of an input, `name=least:most`, where that is more than calibration shows; one field for each. */
      range?: string[] | null;
    };
    /** @description Whom the service takes you for. */
    CallerView: {
      /** @description Whose things you work with. */
      tenant_id: string;
      /** @description The id of your key; `local` where no keys are asked for. */
      actor: string;
      /** @description What you may do. */
      scopes: ("read" | "prove" | "register" | "reveal" | "contribute" | "manage" | "admin")[];
    };
    /** @description Why a job, or one attempt at it, failed. ``code`` is stable. */
    Cause: {
      /** @description Stable: what programs may rely on. */
      code: string;
      /** @description What happened, and what helps; for people. */
      detail: string;
      /** @description The field of the request at fault, if one is. */
      field?: string | null;
    };
    /** @description Open a ceremony for the keys of circuits of one model. */
    CeremonyRequest: {
      /** @description The registered model: its id, or NAME, NAME@VERSION. */
      model_id: string;
      /** @description What to call it. */
      name: string;
      /** @description Whose keys are to be made; contributors share in all of them at once. */
      circuits: components["schemas"]["CircuitRequest"][];
    };
    /** @description A ceremony, as lists show it. Its job is the one that opens it. */
    CeremonySummary: {
      /** @description Names it from now on: `mdl_…`, `dst_…`, `prf_…` or `str_…`. */
      id: string;
      /** @description Whose it is. */
      tenant_id: string;
      /**
       * @description Over for good with `succeeded`, `failed` or `canceled`.
       * @enum {string}
       */
      state: "queued" | "running" | "succeeded" | "failed" | "canceled";
      /** @description Grows with every change. */
      revision: number;
      /** @description What is being done; `shards` or `frames` while a proof or a stream waits for those. */
      stage: string | null;
      /** @description How much of this stage is done. */
      percent: number;
      /** @description How much of the whole work is done, once it is known. */
      overall_percent: number | null;
      /** @description How long it will still take, once it is known. */
      eta_seconds: number | null;
      /** @description How much of that is for keys that are not there yet; 0 where they are. */
      eta_setup_seconds: number | null;
      /** @description What whoever asked for it finds it by: names and their values. */
      labels: {
        [key: string]: string;
      };
      /** @description Among the jobs of its tenant; more is sooner. */
      priority: number;
      /**
       * @description Which workers may take it: those with a GPU, or all.
       * @enum {string}
       */
      queue: "cpu" | "gpu";
      /** @description It fails if it is not over by then. */
      deadline_at: string | null;
      /** @description It is deleted then. */
      expires_at: string | null;
      /** @description Grows when a job is taken up again after a worker was lost. */
      attempt: number;
      /** @description Whether somebody asked to stop it. */
      cancel_requested: boolean;
      /**
       * Format: date-time
       * @description When it was asked for.
       */
      created_at: string;
      /** @description When a worker first took it. */
      started_at: string | null;
      /** @description When it was over. */
      finished_at: string | null;
      /** @description Seconds per stage, for the owner of the job. */
      timings: {
        [key: string]: number;
      };
      /** @description Why the job failed. */
      problem: components["schemas"]["Cause"] | null;
      /** @description The cause of every attempt that did not end well. */
      failures: components["schemas"]["Failure"][];
      /** @description What it is called. */
      name: string;
      /** @description The model whose circuits they are; null: it was deleted. */
      model_id: string | null;
      /**
       * @description `opening`; `open` to contributions; `closing`, waiting for its beacon; `finished`.
       * @enum {string}
       */
      phase: "opening" | "open" | "closing" | "finished";
      /** @description SHA-256 of the file with the powers of tau: `…/files/{sha256}`. */
      powers: string;
      /** @description How many shared in making them, beacons not counted: with none, its keys are for development. */
      contributors_to_powers: number | null;
      /** @description What its keys will say, null while it opens. `development`: nobody contributed to the powers of tau, so whoever drew them can forge proofs, however many contribute now. */
      setup: ("ceremony" | "development") | null;
      /** @description Where the value of its beacon comes from, once that is announced. */
      closes_with: string | null;
      /** @description The value is hashed 2^rounds times. */
      rounds: number | null;
      /** @description When that was announced. */
      closing_at: string | null;
      /** @description The value, once it has made the keys. */
      beacon: string | null;
    };
    /** @description A ceremony: its circuits, and who contributed. */
    CeremonyView: {
      /** @description Names it from now on: `mdl_…`, `dst_…`, `prf_…` or `str_…`. */
      id: string;
      /** @description Whose it is. */
      tenant_id: string;
      /**
       * @description Over for good with `succeeded`, `failed` or `canceled`.
       * @enum {string}
       */
      state: "queued" | "running" | "succeeded" | "failed" | "canceled";
      /** @description Grows with every change. */
      revision: number;
      /** @description What is being done; `shards` or `frames` while a proof or a stream waits for those. */
      stage: string | null;
      /** @description How much of this stage is done. */
      percent: number;
      /** @description How much of the whole work is done, once it is known. */
      overall_percent: number | null;
      /** @description How long it will still take, once it is known. */
      eta_seconds: number | null;
      /** @description How much of that is for keys that are not there yet; 0 where they are. */
      eta_setup_seconds: number | null;
      /** @description What whoever asked for it finds it by: names and their values. */
      labels: {
        [key: string]: string;
      };
      /** @description Among the jobs of its tenant; more is sooner. */
      priority: number;
      /**
       * @description Which workers may take it: those with a GPU, or all.
       * @enum {string}
       */
      queue: "cpu" | "gpu";
      /** @description It fails if it is not over by then. */
      deadline_at: string | null;
      /** @description It is deleted then. */
      expires_at: string | null;
      /** @description Grows when a job is taken up again after a worker was lost. */
      attempt: number;
      /** @description Whether somebody asked to stop it. */
      cancel_requested: boolean;
      /**
       * Format: date-time
       * @description When it was asked for.
       */
      created_at: string;
      /** @description When a worker first took it. */
      started_at: string | null;
      /** @description When it was over. */
      finished_at: string | null;
      /** @description Seconds per stage, for the owner of the job. */
      timings: {
        [key: string]: number;
      };
      /** @description Why the job failed. */
      problem: components["schemas"]["Cause"] | null;
      /** @description The cause of every attempt that did not end well. */
      failures: components["schemas"]["Failure"][];
      /** @description What it is called. */
      name: string;
      /** @description The model whose circuits they are; null: it was deleted. */
      model_id: string | null;
      /**
       * @description `opening`; `open` to contributions; `closing`, waiting for its beacon; `finished`.
       * @enum {string}
       */
      phase: "opening" | "open" | "closing" | "finished";
      /** @description SHA-256 of the file with the powers of tau: `…/files/{sha256}`. */
      powers: string;
      /** @description How many shared in making them, beacons not counted: with none, its keys are for development. */
      contributors_to_powers: number | null;
      /** @description What its keys will say, null while it opens. `development`: nobody contributed to the powers of tau, so whoever drew them can forge proofs, however many contribute now. */
      setup: ("ceremony" | "development") | null;
      /** @description Where the value of its beacon comes from, once that is announced. */
      closes_with: string | null;
      /** @description The value is hashed 2^rounds times. */
      rounds: number | null;
      /** @description When that was announced. */
      closing_at: string | null;
      /** @description The value, once it has made the keys. */
      beacon: string | null;
      /** @description In the order of contributions; none while it opens. */
      circuits: components["schemas"]["CircuitView"][];
      /** @description Those that are part of it, in order. */
      contributions: components["schemas"]["ContributionView"][];
      /** @description The contribution that is being verified: no other is taken meanwhile. */
      pending: string | null;
    };
    /** @description A circuit of a model: by its scheme and what tells it from others, or by a key that it has. */
    CircuitRequest: {
      /** @description What its proofs prove. */
      scheme?: ("registration" | "inference" | "recognition" | "accuracy" | "robustness") | null;
      /** @description Inference, recognition: whether proofs show their input, of several by their names. private */
      input_privacy?:
        | ("public" | "private" | "committed")
        | {
            [key: string]: "public" | "private" | "committed";
          }
        | null;
      /** @description Inference: what proofs show of the output. label; values where there are no classes */
      reveal?: ("label" | "logits" | "top" | "values" | "threshold" | "range" | "commitment") | null;
      /** @description Inference: of several outputs, what proofs show of each that it names. */
      outputs?: {
        [key: string]: "label" | "logits" | "top" | "values" | "threshold" | "range" | "commitment";
      } | null;
      /** @description How many labels, with reveal top or measure top-k. */
      top?: number | null;
      /** @description How many bounds, with reveal range. */
      bounds?: number | null;
      /** @description Inference: frames in one proof, of a bank's model. */
      batch?: number | null;
      /** @description Inference: whether verifiers read all public inputs as one number. */
      fold_inputs?: boolean | null;
      /** @description Accuracy: what is counted or added up. accuracy */
      measure?: ("accuracy" | "top-k" | "f1" | "mse" | "mae" | "r2" | "certified") | null;
      /** @description Robustness, measure certified: of the radius. inf */
      norm?: ("inf" | "2") | null;
      /** @description Recognition: whether proofs show the reference. public */
      reference_privacy?: ("public" | "committed") | null;
      /** @description Accuracy: samples in one proof, as the dataset has it. */
      shard_size?: number | null;
      /** @description A key of the circuit, in the place of all that. */
      verification_key_id?: string | null;
    };
    /** @description A circuit of a ceremony, and how far its key is. */
    CircuitView: {
      /**
       * @description What its proofs prove.
       * @enum {string}
       */
      scheme: "registration" | "inference" | "recognition" | "accuracy" | "robustness";
      /** @description What tells it from other circuits of the network. */
      form: {
        [key: string]: unknown;
      };
      /** @description How large it is. */
      constraints: number;
      /** @description SHA-256 of the file with what its proofs prove: `…/files/{sha256}`. */
      statement: string;
      /** @description Hash of where the key began. */
      start: string;
      /** @description SHA-256 of the file with the key so far: `…/files/{sha256}`. */
      state: string;
      /** @description Bytes of that file. */
      size: number;
      /** @description Bytes of the file after one more contribution. */
      next_size: number;
      /** @description The key that was made, once it is finished. */
      verification_key_id: string | null;
    };
    /** @description Announce the public randomness that will close a ceremony. */
    CloseRequest: {
      /** @description Which value it will be, of a source that anybody can look up later. */
      beacon: string;
      /**
       * @description The value is hashed 2^rounds times.
       * @default 10
       */
      rounds?: number;
    };
    /** @description Commit to an input of a model, or to the embedding that it makes of an image. */
    CommitmentRequest: {
      /** @description The model whose input it is: its id, or NAME, NAME@VERSION. */
      model_id: string;
      /**
       * @description `input`: to the values themselves; `reference`: to the embedding of them.
       * @enum {string}
       */
      kind: "input" | "reference";
      /** @description Numbers, nested to the shape of the model's input: for a reference, an image of it. Of a model with a table, for an input, a cell for each column by its name, too. */
      values:
        | unknown[]
        | {
            [key: string]: string | boolean | number | null;
          };
      /** @description Which input it is, of a model of several. */
      name?: string | null;
    };
    /** @description A commitment. Proofs about what it is to name it by its id. */
    CommitmentView: {
      /** @description Names it in requests for proofs. */
      id: string;
      /** @description The model whose input it is. */
      model_id: string;
      /**
       * @description What it is to: an `input`, or the embedding of a `reference`.
       * @enum {string}
       */
      kind: "input" | "reference" | "output";
      /** @description 48 bytes in hex. */
      commitment: string;
      /**
       * Format: date-time
       * @description When it was made.
       */
      created_at: string;
    };
    /** @description A call to a contract, as its `verify(bytes proof, uint256[] inputs)` takes it. */
    ContractCall: {
      /** @description Points of the proof, uncompressed: hex behind 0x. */
      proof: string;
      /** @description Public inputs, in decimal. */
      inputs: string[];
      /** @description The encoded call: hex behind 0x. */
      calldata: string;
      /** @description About what a transaction takes, all in all. */
      gas: number;
    };
    /** @description Of a proof, one call for each of its shards. */
    ContractCalls: {
      /** @description In the order of the shards. */
      calls: components["schemas"]["ContractCall"][];
    };
    /** @description Hand in a contribution to all circuits of a ceremony. */
    ContributionRequest: {
      /** @description One for each circuit, in their order. */
      states: components["schemas"]["HandedStateRequest"][];
    };
    /** @description A contribution, and how far its verification is. */
    ContributionView: {
      /** @description Names it from now on: `mdl_…`, `dst_…`, `prf_…` or `str_…`. */
      id: string;
      /** @description Whose it is. */
      tenant_id: string;
      /**
       * @description Over for good with `succeeded`, `failed` or `canceled`.
       * @enum {string}
       */
      state: "queued" | "running" | "succeeded" | "failed" | "canceled";
      /** @description Grows with every change. */
      revision: number;
      /** @description What is being done; `shards` or `frames` while a proof or a stream waits for those. */
      stage: string | null;
      /** @description How much of this stage is done. */
      percent: number;
      /** @description How much of the whole work is done, once it is known. */
      overall_percent: number | null;
      /** @description How long it will still take, once it is known. */
      eta_seconds: number | null;
      /** @description How much of that is for keys that are not there yet; 0 where they are. */
      eta_setup_seconds: number | null;
      /** @description What whoever asked for it finds it by: names and their values. */
      labels: {
        [key: string]: string;
      };
      /** @description Among the jobs of its tenant; more is sooner. */
      priority: number;
      /**
       * @description Which workers may take it: those with a GPU, or all.
       * @enum {string}
       */
      queue: "cpu" | "gpu";
      /** @description It fails if it is not over by then. */
      deadline_at: string | null;
      /** @description It is deleted then. */
      expires_at: string | null;
      /** @description Grows when a job is taken up again after a worker was lost. */
      attempt: number;
      /** @description Whether somebody asked to stop it. */
      cancel_requested: boolean;
      /**
       * Format: date-time
       * @description When it was asked for.
       */
      created_at: string;
      /** @description When a worker first took it. */
      started_at: string | null;
      /** @description When it was over. */
      finished_at: string | null;
      /** @description Seconds per stage, for the owner of the job. */
      timings: {
        [key: string]: number;
      };
      /** @description Why the job failed. */
      problem: components["schemas"]["Cause"] | null;
      /** @description The cause of every attempt that did not end well. */
      failures: components["schemas"]["Failure"][];
      /** @description What it is to. */
      ceremony_id: string;
      /** @description In the chain, from 1, once it is part of it. */
      place: number | null;
      /** @description Whose it is, as it says. */
      name: string | null;
      /** @description What its contributor publishes: one for each circuit. */
      hashes: string[] | null;
      /** @description The value, of the contribution of public randomness. */
      beacon: string | null;
    };
    /**
     * @description The dataset of an accuracy. ``sha256``: of its content (``zenserve.verifier.datasets``), null if it is
     *     private.
     *
     *     ``picked_for``: the commitment of the model that the dataset was picked for, after seeing it;
     *     ``blinding``: the opening of the sum of all ``correct`` to the totals, in the commitment scheme's form.
     */
    Dataset: {
      /** @description Of its content; null where it is private. */
      sha256: string | null;
      /** @description How many samples it has. */
      size: number;
      /** @description The commitment of the model that was there before it. */
      picked_for: string | null;
      /** @description Its parts, each with a proof of its own. */
      shards: components["schemas"]["Shard"][];
      /** @description What opens the sum of all `correct` to the total; in hex. */
      blinding: string;
    };
    /** @description Labelled samples, as lists show them. */
    DatasetSummary: {
      /** @description Names it from now on: `mdl_…`, `dst_…`, `prf_…` or `str_…`. */
      id: string;
      /** @description Whose it is. */
      tenant_id: string;
      /**
       * @description Over for good with `succeeded`, `failed` or `canceled`.
       * @enum {string}
       */
      state: "queued" | "running" | "succeeded" | "failed" | "canceled";
      /** @description Grows with every change. */
      revision: number;
      /** @description What is being done; `shards` or `frames` while a proof or a stream waits for those. */
      stage: string | null;
      /** @description How much of this stage is done. */
      percent: number;
      /** @description How much of the whole work is done, once it is known. */
      overall_percent: number | null;
      /** @description How long it will still take, once it is known. */
      eta_seconds: number | null;
      /** @description How much of that is for keys that are not there yet; 0 where they are. */
      eta_setup_seconds: number | null;
      /** @description What whoever asked for it finds it by: names and their values. */
      labels: {
        [key: string]: string;
      };
      /** @description Among the jobs of its tenant; more is sooner. */
      priority: number;
      /**
       * @description Which workers may take it: those with a GPU, or all.
       * @enum {string}
       */
      queue: "cpu" | "gpu";
      /** @description It fails if it is not over by then. */
      deadline_at: string | null;
      /** @description It is deleted then. */
      expires_at: string | null;
      /** @description Grows when a job is taken up again after a worker was lost. */
      attempt: number;
      /** @description Whether somebody asked to stop it. */
      cancel_requested: boolean;
      /**
       * Format: date-time
       * @description When it was asked for.
       */
      created_at: string;
      /** @description When a worker first took it. */
      started_at: string | null;
      /** @description When it was over. */
      finished_at: string | null;
      /** @description Seconds per stage, for the owner of the job. */
      timings: {
        [key: string]: number;
      };
      /** @description Why the job failed. */
      problem: components["schemas"]["Cause"] | null;
      /** @description The cause of every attempt that did not end well. */
      failures: components["schemas"]["Failure"][];
      /** @description The model whose inputs the samples are. */
      model_id: string;
      /** @description What its owner calls it. */
      name: string;
      /**
       * @description Whether proofs say which dataset it is.
       * @enum {string}
       */
      privacy: "public" | "private";
      /** @description How many samples it has. */
      size: number;
      /** @description Of the content; null where it is private. */
      sha256: string | null;
      /**
       * @description What its samples have, which says what can be measured.
       * @enum {string}
       */
      compared: "labels" | "targets";
      /** @description Which output of the network these are of, where there are several. */
      output?: string | null;
      /** @description The model's commitment, which was there before. */
      picked_for: string | null;
      /** @description What was said to be measured on it. */
      measure?: ("accuracy" | "top-k" | "f1" | "mse" | "mae" | "r2" | "certified") | null;
      /** @description Samples in one proof. */
      shard_size: number | null;
    };
    /** @description Labelled samples, committed in shards. */
    DatasetView: {
      /** @description Names it from now on: `mdl_…`, `dst_…`, `prf_…` or `str_…`. */
      id: string;
      /** @description Whose it is. */
      tenant_id: string;
      /**
       * @description Over for good with `succeeded`, `failed` or `canceled`.
       * @enum {string}
       */
      state: "queued" | "running" | "succeeded" | "failed" | "canceled";
      /** @description Grows with every change. */
      revision: number;
      /** @description What is being done; `shards` or `frames` while a proof or a stream waits for those. */
      stage: string | null;
      /** @description How much of this stage is done. */
      percent: number;
      /** @description How much of the whole work is done, once it is known. */
      overall_percent: number | null;
      /** @description How long it will still take, once it is known. */
      eta_seconds: number | null;
      /** @description How much of that is for keys that are not there yet; 0 where they are. */
      eta_setup_seconds: number | null;
      /** @description What whoever asked for it finds it by: names and their values. */
      labels: {
        [key: string]: string;
      };
      /** @description Among the jobs of its tenant; more is sooner. */
      priority: number;
      /**
       * @description Which workers may take it: those with a GPU, or all.
       * @enum {string}
       */
      queue: "cpu" | "gpu";
      /** @description It fails if it is not over by then. */
      deadline_at: string | null;
      /** @description It is deleted then. */
      expires_at: string | null;
      /** @description Grows when a job is taken up again after a worker was lost. */
      attempt: number;
      /** @description Whether somebody asked to stop it. */
      cancel_requested: boolean;
      /**
       * Format: date-time
       * @description When it was asked for.
       */
      created_at: string;
      /** @description When a worker first took it. */
      started_at: string | null;
      /** @description When it was over. */
      finished_at: string | null;
      /** @description Seconds per stage, for the owner of the job. */
      timings: {
        [key: string]: number;
      };
      /** @description Why the job failed. */
      problem: components["schemas"]["Cause"] | null;
      /** @description The cause of every attempt that did not end well. */
      failures: components["schemas"]["Failure"][];
      /** @description The model whose inputs the samples are. */
      model_id: string;
      /** @description What its owner calls it. */
      name: string;
      /**
       * @description Whether proofs say which dataset it is.
       * @enum {string}
       */
      privacy: "public" | "private";
      /** @description How many samples it has. */
      size: number;
      /** @description Of the content; null where it is private. */
      sha256: string | null;
      /**
       * @description What its samples have, which says what can be measured.
       * @enum {string}
       */
      compared: "labels" | "targets";
      /** @description Which output of the network these are of, where there are several. */
      output?: string | null;
      /** @description The model's commitment, which was there before. */
      picked_for: string | null;
      /** @description What was said to be measured on it. */
      measure?: ("accuracy" | "top-k" | "f1" | "mse" | "mae" | "r2" | "certified") | null;
      /** @description Samples in one proof. */
      shard_size: number | null;
      /** @description Its parts, once they are committed to. */
      shards: components["schemas"]["ShardView"][] | null;
    };
    /** @description A message, and what became of it. */
    DeliveryView: {
      /** @description The `webhook-id`: the same in all attempts. */
      id: string;
      /** @description What it tells of; `webhook.test` in a test. */
      event: string;
      /** @description What it is about; empty in a test. */
      job_id: string;
      /** @description As it is sent and signed. */
      body: string;
      /**
       * @description Whether it arrived.
       * @enum {string}
       */
      state: "waiting" | "delivered" | "given up";
      /** @description What became of each, the first one first. */
      attempts: components["schemas"]["AttemptView"][];
      /**
       * Format: date-time
       * @description When it is tried next, while it waits.
       */
      next_at: string;
      /**
       * Format: date-time
       * @description When it was first to be sent.
       */
      created_at: string;
    };
    /**
     * @description The difference between two successive steps from the model to the integers, on the same samples.
     *
     *     No part of it is proven.
     */
    Difference: {
      /**
       * @description `import`: the float network that was read from the file; `quantisation`: the integers.
       * @enum {string}
       */
      stage: "export" | "import" | "quantisation";
      /** @description What they are compared with. */
      reference: string;
      /** @description How many inputs were compared. */
      samples: number;
      /** @description The output that is furthest off. */
      output: string;
      /**
       * @description Whether samples are compared by their first labels or by values.
       * @enum {string}
       */
      measure: "label" | "value";
      /** @description Of values the largest error, as a share of the output's range, zero included; of labels the share of the samples with others. */
      error: number;
      /** @description The share of the samples beyond tolerance. */
      differing: number;
      /** @description Where the two part first; null within tolerance. */
      node: string | null;
    };
    /**
     * @description The values that a proof would show, and its cost.
     *
     *     Every constraint holds; nothing was made, and nothing was kept.
     */
    DryRunView: {
      /** @description The model that it would be about. */
      model_id: string;
      /**
       * @description What it would prove.
       * @enum {string}
       */
      scheme: "inference" | "recognition" | "accuracy" | "robustness";
      /** @description The class that the network chose. */
      label: number | null;
      /** @description All that the proof would show, by name. */
      values: {
        [key: string]: number | number[];
      };
      /** @description Rows that the witness was held against; of a dataset, those of its first shard. */
      constraints: number;
      /** @description How many there would be: one, or one for each shard. */
      proofs: number;
      /** @description The key that it would verify with; null: there is none yet, its setup is due. */
      verification_key_id: string | null;
      /** @description About how long its keys take to make; 0 where they are there. */
      setup_seconds: number;
      /** @description About how long the proof takes, once there are keys and a worker is free. */
      proof_seconds: number;
      /** @description What a worker needs for it. */
      memory_bytes: number;
      /** @description Of the proving key, which the service keeps. */
      key_bytes: number;
      /** @description Of the proof, without its statement. */
      proof_bytes: number;
      /**
       * @description Which workers may take it.
       * @enum {string}
       */
      queue: "cpu" | "gpu";
    };
    /** @description The errors of values against the expected values. */
    Errors: {
      /** @description The mean squared error. */
      mse: number;
      /** @description The mean absolute error. */
      mae: number;
      /** @description R²; null where all values are one. */
      r2: number | null;
    };
    /** @description The values that a verifier of a proof knows from elsewhere: each is null where none is known. */
    Expected: {
      /** @description The commitment to the model. */
      model?: string | null;
      /** @description SHA-256 of the network, or of its architecture where weights are hidden. */
      network?: string | null;
      /** @description The document's own time is this, or later. */
      after?: string | null;
      /** @description The document's own time is this, or earlier. */
      before?: string | null;
      /** @description The id of the verification key. */
      key?: string | null;
      /** @description The key's file shows that its secrets are of a ceremony, or its system has no secrets. */
      require?: "ceremony" | null;
      /** @description The commitment to the input. */
      input?: string | null;
      /** @description Those to several inputs, by their names. */
      inputs?: {
        [key: string]: string;
      } | null;
      /** @description The commitment to the output. */
      output?: string | null;
      /** @description Those to several outputs, by their names. */
      outputs?: {
        [key: string]: string;
      } | null;
      /** @description The commitment to the reference. */
      reference?: string | null;
      /** @description The text that you gave. */
      challenge?: string | null;
      /** @description The output is shown to be this, or more, in its own units; of several, by their names. */
      at_least?:
        | number
        | {
            [key: string]: number;
          }
        | null;
      /** @description The output is shown to be this, or less, in its own units; of several, by their names. */
      at_most?:
        | number
        | {
            [key: string]: number;
          }
        | null;
    };
    /** @description The cause of one attempt that did not end well. */
    Failure: {
      /** @description Stable: what programs may rely on. */
      code: string;
      /** @description What happened, and what helps; for people. */
      detail: string;
      /** @description The field of the request at fault, if one is. */
      field?: string | null;
      /** @description Which attempt it was. */
      attempt: number;
      /**
       * Format: date-time
       * @description When it ended.
       */
      at: string;
    };
    /** @description The value that was announced, now that everybody knows it. */
    FinishRequest: {
      /** @description 32 bytes in hex. */
      value: string;
      /**
       * @description Make keys although nobody contributed to the powers of tau: they say `development`.
       * @default false
       */
      development?: boolean;
    };
    /** @description The next frame of a stream. */
    FrameRequest: {
      /** @description Its place, from 0: none is left out. */
      number: number;
      /** @description Numbers, nested to the shape of the models' input. */
      input: unknown[];
    };
    /** @description A frame, and what its proof says. */
    FrameView: {
      /** @description Its place in the stream, from 0. */
      number: number;
      /** @description The proof, as any other. */
      proof_id: string;
      /**
       * @description The proof's.
       * @enum {string}
       */
      state: "queued" | "running" | "succeeded" | "failed" | "canceled";
      /** @description Why there is no proof, as the stream's chain says: `deadline`, … */
      missed: string | null;
      /** @description The model that the labels before it asked for, once it is proven. */
      model_id: string | null;
      /** @description The class that it was given. */
      label: number | null;
      /** @description The class that the model sees without a prior: the course follows this. */
      seen: number | null;
      /**
       * Format: date-time
       * @description When it was handed in.
       */
      created_at: string;
      /** @description When it was proven or missed. */
      finished_at: string | null;
      /** @description The first frame of those that its proof is of; null where that is of no other. */
      batch: number | null;
      /** @description What its proof took a worker; of a batch its share. */
      seconds: number;
    };
    /** @description The state of a circuit after one's contribution, and the one that it extends. */
    HandedStateRequest: {
      /** @description SHA-256 of the state that was contributed to. */
      extends: string;
      /** @description Of the upload with the new state. */
      sha256: string;
    };
    /** @description The definition of a stream: models, rules, start and challenge. It is fixed once the stream begins. */
    Head: {
      /** @description Its models. */
      bank: components["schemas"]["Bank"];
      /** @description The numbers of its course. */
      rules: components["schemas"]["Rules"];
      /** @description When it began. */
      begun_at: string;
      /** @description What whoever asked for it chose: it was not made before. Else not there. */
      challenge?: string | null;
    };
    Health: {
      /**
       * @description There is no other: a process that is not well does not answer.
       * @default ok
       * @constant
       */
      status?: "ok";
    };
    /** @description The number of a tensor's values in each bin, from `start` on. */
    Histogram: {
      /** @description Where the first bin begins. */
      start: number;
      /** @description Of each bin: some whole steps. */
      width: number;
      /** @description Of the values in floats. */
      floats: number[];
      /** @description Of what the integers stand for. */
      integers: number[];
    };
    /** @description One of several inputs: its values, or a commitment to it. */
    InputRequest: {
      /** @description Numbers, nested to the shape of the input. */
      values?:
        | unknown[]
        | {
            [key: string]: string | boolean | number | null;
          }
        | null;
      /** @description Whether the proof shows them. private */
      privacy?: ("public" | "private") | null;
      /** @description A commitment to the input, in their place. */
      id?: string | null;
    };
    /** @description A signer of receipts, named by its public key. */
    IssuerView: {
      /** @description Ed25519 public key, 32 bytes in hex. */
      issuer: string;
      /** @description Whether new receipts are signed with it. */
      is_present: boolean;
      /** @description When it first signed one; null: it has not yet. */
      since: string | null;
    };
    /** @description A job that is over. What it made is not in the message: fetch it with a key. */
    JobEnd: {
      /** @description Of the model, dataset, proof or stream. */
      id: string;
      /**
       * @description How it ended.
       * @enum {string}
       */
      state: "succeeded" | "failed" | "canceled";
      /** @description Of the job; grows with every change. */
      revision: number;
      /** @description The one that it ended in. */
      attempt: number;
      /** @description As the job has them. */
      labels: {
        [key: string]: string;
      };
      /** @description Why it failed. */
      problem: components["schemas"]["Cause"] | null;
      /**
       * Format: date-time
       * @description When it was asked for.
       */
      created_at: string;
      /** @description When a worker first took it. */
      started_at: string | null;
      /**
       * Format: date-time
       * @description When it was over.
       */
      finished_at: string;
      /** @description Where it is, in this API. */
      url: string;
    };
    /**
     * @description A verification key and what it means: ``key`` as its system writes it, ``circuit`` as described.
     *
     *     ``transcript``: what ``VerifyingSystem.check_transcript`` takes.
     */
    KeyFile: {
      /**
       * @description Of the format.
       * @default 2
       * @enum {integer}
       */
      version?: 2 | 3;
      /** @description The proof system; not there before version 3. */
      system?: string | null;
      /** @description How its commitments are made: that of its proof system. */
      commitment_scheme?: string | null;
      /** @description SHA-256 in hex. */
      id: string;
      /** @description Who made the key: `development`, one party; or a ceremony. */
      setup: string;
      /** @description The key, as its proof system has it. */
      key: {
        [key: string]: unknown;
      };
      /** @description What the key proves: scheme, architecture, quantisation, public inputs. */
      circuit: {
        [key: string]: unknown;
      };
      /** @description How the contributions of a ceremony came to the key's secrets; null where none did, or where it is not shown. The id does not cover it. */
      transcript?: {
        [key: string]: unknown;
      } | null;
    };
    /** @description The verification key that a proof is for. ``id`` covers the key and its meaning (``key_id``). */
    KeyReference: {
      /** @description SHA-256 in hex. */
      id: string;
      /** @description Who made the key: `development`, one party; or a ceremony. */
      setup: string;
    };
    /** @description An API key to be made. */
    KeyRequest: {
      /** @description What to call it: who holds it, or what for. */
      name: string;
      /** @description What its holder may do. */
      scopes: ("read" | "prove" | "register" | "reveal" | "contribute" | "manage" | "admin")[];
      /** @description It is no good after as many; for ever unless given. */
      expires_in_days?: number | null;
      /** @description With the scope admin: whose it is to be. Your own tenant's unless given. */
      tenant_id?: string | null;
    };
    /** @description An API key, without what it is shown by. */
    KeyView: {
      /** @description Names it, to revoke it and in the audit log. */
      id: string;
      /** @description Whose it is. */
      tenant_id: string;
      /** @description What it is called. */
      name: string;
      /** @description What its holder may do. */
      scopes: ("read" | "prove" | "register" | "reveal" | "contribute" | "manage" | "admin")[];
      /**
       * Format: date-time
       * @description When it was made.
       */
      created_at: string;
      /** @description It is no good from then on; null: no end. */
      expires_at: string | null;
      /** @description When it was revoked; null: it is good. */
      revoked_at: string | null;
      /** @description Within five minutes. */
      last_used_at: string | null;
    };
    AuditViewListing: {
      /** @description At most `limit` of them. */
      items: components["schemas"]["AuditView"][];
      /** @description Give it as `cursor` for the next page; null on the last. */
      next_cursor: string | null;
    };
    CeremonySummaryListing: {
      /** @description At most `limit` of them. */
      items: components["schemas"]["CeremonySummary"][];
      /** @description Give it as `cursor` for the next page; null on the last. */
      next_cursor: string | null;
    };
    CommitmentViewListing: {
      /** @description At most `limit` of them. */
      items: components["schemas"]["CommitmentView"][];
      /** @description Give it as `cursor` for the next page; null on the last. */
      next_cursor: string | null;
    };
    DatasetSummaryListing: {
      /** @description At most `limit` of them. */
      items: components["schemas"]["DatasetSummary"][];
      /** @description Give it as `cursor` for the next page; null on the last. */
      next_cursor: string | null;
    };
    DeliveryViewListing: {
      /** @description At most `limit` of them. */
      items: components["schemas"]["DeliveryView"][];
      /** @description Give it as `cursor` for the next page; null on the last. */
      next_cursor: string | null;
    };
    FrameViewListing: {
      /** @description At most `limit` of them. */
      items: components["schemas"]["FrameView"][];
      /** @description Give it as `cursor` for the next page; null on the last. */
      next_cursor: string | null;
    };
    IssuerViewListing: {
      /** @description At most `limit` of them. */
      items: components["schemas"]["IssuerView"][];
      /** @description Give it as `cursor` for the next page; null on the last. */
      next_cursor: string | null;
    };
    KeyViewListing: {
      /** @description At most `limit` of them. */
      items: components["schemas"]["KeyView"][];
      /** @description Give it as `cursor` for the next page; null on the last. */
      next_cursor: string | null;
    };
    ModelSummaryListing: {
      /** @description At most `limit` of them. */
      items: components["schemas"]["ModelSummary"][];
      /** @description Give it as `cursor` for the next page; null on the last. */
      next_cursor: string | null;
    };
    ProofViewListing: {
      /** @description At most `limit` of them. */
      items: components["schemas"]["ProofView"][];
      /** @description Give it as `cursor` for the next page; null on the last. */
      next_cursor: string | null;
    };
    StreamViewListing: {
      /** @description At most `limit` of them. */
      items: components["schemas"]["StreamView"][];
      /** @description Give it as `cursor` for the next page; null on the last. */
      next_cursor: string | null;
    };
    TenantViewListing: {
      /** @description At most `limit` of them. */
      items: components["schemas"]["TenantView"][];
      /** @description Give it as `cursor` for the next page; null on the last. */
      next_cursor: string | null;
    };
    UsageViewListing: {
      /** @description At most `limit` of them. */
      items: components["schemas"]["UsageView"][];
      /** @description Give it as `cursor` for the next page; null on the last. */
      next_cursor: string | null;
    };
    WebhookViewListing: {
      /** @description At most `limit` of them. */
      items: components["schemas"]["WebhookView"][];
      /** @description Give it as `cursor` for the next page; null on the last. */
      next_cursor: string | null;
    };
    /**
     * @description A message to a webhook.
     *
     *     The headers `webhook-id`, `webhook-timestamp` and `webhook-signature` give the message's id, the time of
     *     sending, and the service's signature (https://www.standardwebhooks.com).
     */
    Message: {
      /**
       * @description What happened.
       * @enum {string}
       */
      type:
        | "model.succeeded"
        | "model.failed"
        | "model.canceled"
        | "dataset.succeeded"
        | "dataset.failed"
        | "dataset.canceled"
        | "proof.succeeded"
        | "proof.failed"
        | "proof.canceled"
        | "stream.succeeded"
        | "stream.failed"
        | "stream.canceled";
      /**
       * Format: date-time
       * @description When it happened.
       */
      timestamp: string;
      /** @description To what. */
      data: components["schemas"]["JobEnd"];
    };
    /** @description A frame without a proof: it stands in the chain all the same. */
    Missed: {
      /** @description Why, in print. */
      missed: string;
    };
    /** @description The changes to a model. */
    ModelChange: {
      /** @description Whether proofs of it are made with keys of a ceremony alone. */
      require_ceremony: boolean;
    };
    /** @description A registered model, as lists show it. */
    ModelSummary: {
      /** @description Names it from now on: `mdl_…`, `dst_…`, `prf_…` or `str_…`. */
      id: string;
      /** @description Whose it is. */
      tenant_id: string;
      /**
       * @description Over for good with `succeeded`, `failed` or `canceled`.
       * @enum {string}
       */
      state: "queued" | "running" | "succeeded" | "failed" | "canceled";
      /** @description Grows with every change. */
      revision: number;
      /** @description What is being done; `shards` or `frames` while a proof or a stream waits for those. */
      stage: string | null;
      /** @description How much of this stage is done. */
      percent: number;
      /** @description How much of the whole work is done, once it is known. */
      overall_percent: number | null;
      /** @description How long it will still take, once it is known. */
      eta_seconds: number | null;
      /** @description How much of that is for keys that are not there yet; 0 where they are. */
      eta_setup_seconds: number | null;
      /** @description What whoever asked for it finds it by: names and their values. */
      labels: {
        [key: string]: string;
      };
      /** @description Among the jobs of its tenant; more is sooner. */
      priority: number;
      /**
       * @description Which workers may take it: those with a GPU, or all.
       * @enum {string}
       */
      queue: "cpu" | "gpu";
      /** @description It fails if it is not over by then. */
      deadline_at: string | null;
      /** @description It is deleted then. */
      expires_at: string | null;
      /** @description Grows when a job is taken up again after a worker was lost. */
      attempt: number;
      /** @description Whether somebody asked to stop it. */
      cancel_requested: boolean;
      /**
       * Format: date-time
       * @description When it was asked for.
       */
      created_at: string;
      /** @description When a worker first took it. */
      started_at: string | null;
      /** @description When it was over. */
      finished_at: string | null;
      /** @description Seconds per stage, for the owner of the job. */
      timings: {
        [key: string]: number;
      };
      /** @description Why the job failed. */
      problem: components["schemas"]["Cause"] | null;
      /** @description The cause of every attempt that did not end well. */
      failures: components["schemas"]["Failure"][];
      /** @description What its owner calls it. */
      name: string;
      /** @description Its number among the models of this name. */
      version: number;
      /** @description The proof system that proves what it computes. */
      system: string;
      /**
       * @description Whether everybody may know the weights, or proofs are about a commitment to them.
       * @enum {string}
       */
      weight_privacy: "public" | "committed";
      /** @description Precision of its quantised tensors, the most that one has. */
      bits: number;
      /** @description The model that this is a new version of. */
      parent_id: string | null;
      /** @description SHA-256 of the network, or of its architecture where the weights are committed. */
      network: string | null;
      /** @description 48 bytes in hex, where the weights are committed. */
      commitment: string | null;
      /** @description Who made that key: `development`, one party, which could have kept the power to forge proofs; `ceremony`, several. */
      setup: string | null;
      /** @description Of proofs of a private input's label. */
      verification_key_id: string | null;
      /** @description Whether proofs of it are made with keys of a ceremony alone. */
      require_ceremony: boolean;
      /** @description Whether inputs beyond its calibration are taken as the ends of that range, not refused. */
      saturate: boolean;
      /** @description Whether proofs are made however far its integers' answers are from its float network's. */
      accept_difference: boolean;
    };
    /** @description A registered model. */
    ModelView: {
      /** @description Names it from now on: `mdl_…`, `dst_…`, `prf_…` or `str_…`. */
      id: string;
      /** @description Whose it is. */
      tenant_id: string;
      /**
       * @description Over for good with `succeeded`, `failed` or `canceled`.
       * @enum {string}
       */
      state: "queued" | "running" | "succeeded" | "failed" | "canceled";
      /** @description Grows with every change. */
      revision: number;
      /** @description What is being done; `shards` or `frames` while a proof or a stream waits for those. */
      stage: string | null;
      /** @description How much of this stage is done. */
      percent: number;
      /** @description How much of the whole work is done, once it is known. */
      overall_percent: number | null;
      /** @description How long it will still take, once it is known. */
      eta_seconds: number | null;
      /** @description How much of that is for keys that are not there yet; 0 where they are. */
      eta_setup_seconds: number | null;
      /** @description What whoever asked for it finds it by: names and their values. */
      labels: {
        [key: string]: string;
      };
      /** @description Among the jobs of its tenant; more is sooner. */
      priority: number;
      /**
       * @description Which workers may take it: those with a GPU, or all.
       * @enum {string}
       */
      queue: "cpu" | "gpu";
      /** @description It fails if it is not over by then. */
      deadline_at: string | null;
      /** @description It is deleted then. */
      expires_at: string | null;
      /** @description Grows when a job is taken up again after a worker was lost. */
      attempt: number;
      /** @description Whether somebody asked to stop it. */
      cancel_requested: boolean;
      /**
       * Format: date-time
       * @description When it was asked for.
       */
      created_at: string;
      /** @description When a worker first took it. */
      started_at: string | null;
      /** @description When it was over. */
      finished_at: string | null;
      /** @description Seconds per stage, for the owner of the job. */
      timings: {
        [key: string]: number;
      };
      /** @description Why the job failed. */
      problem: components["schemas"]["Cause"] | null;
      /** @description The cause of every attempt that did not end well. */
      failures: components["schemas"]["Failure"][];
      /** @description What its owner calls it. */
      name: string;
      /** @description Its number among the models of this name. */
      version: number;
      /** @description The proof system that proves what it computes. */
      system: string;
      /**
       * @description Whether everybody may know the weights, or proofs are about a commitment to them.
       * @enum {string}
       */
      weight_privacy: "public" | "committed";
      /** @description Precision of its quantised tensors, the most that one has. */
      bits: number;
      /** @description The model that this is a new version of. */
      parent_id: string | null;
      /** @description SHA-256 of the network, or of its architecture where the weights are committed. */
      network: string | null;
      /** @description 48 bytes in hex, where the weights are committed. */
      commitment: string | null;
      /** @description Who made that key: `development`, one party, which could have kept the power to forge proofs; `ceremony`, several. */
      setup: string | null;
      /** @description Of proofs of a private input's label. */
      verification_key_id: string | null;
      /** @description Whether proofs of it are made with keys of a ceremony alone. */
      require_ceremony: boolean;
      /** @description Whether inputs beyond its calibration are taken as the ends of that range, not refused. */
      saturate: boolean;
      /** @description Whether proofs are made however far its integers' answers are from its float network's. */
      accept_difference: boolean;
      /** @description The registered models of its network under other proof systems. */
      twins: components["schemas"]["TwinView"][];
      /** @description What quantisation did, on the calibration; null for models of older services. */
      report: components["schemas"]["QuantisationReport"] | null;
      /** @description Of the registration's proof. */
      registration_key_id: string | null;
      /** @description Of a model of a table, what its columns and classes are called, and which preparation of the columns is not proven; null where its file does not say. */
      table?: {
        [key: string]: unknown;
      } | null;
      /** @description Architecture, quantisation and constraint counts per layer, once it is registered. */
      description: {
        [key: string]: unknown;
      } | null;
    };
    /** @description An API key that was just made. */
    NewKeyView: {
      /** @description Names it, to revoke it and in the audit log. */
      id: string;
      /** @description Whose it is. */
      tenant_id: string;
      /** @description What it is called. */
      name: string;
      /** @description What its holder may do. */
      scopes: ("read" | "prove" | "register" | "reveal" | "contribute" | "manage" | "admin")[];
      /**
       * Format: date-time
       * @description When it was made.
       */
      created_at: string;
      /** @description It is no good from then on; null: no end. */
      expires_at: string | null;
      /** @description When it was revoked; null: it is good. */
      revoked_at: string | null;
      /** @description Within five minutes. */
      last_used_at: string | null;
      /** @description Send it as `Authorization: Bearer …`. It is not shown again. */
      key: string;
    };
    /** @description A webhook that was just made. */
    NewWebhookView: {
      /** @description Names it. */
      id: string;
      /** @description Where messages go. */
      url: string;
      /** @description What it is told. */
      events: string[];
      /**
       * Format: date-time
       * @description When it was made.
       */
      created_at: string;
      /** @description Until then messages are signed with the secret of before, too: it was rotated. */
      previous_until: string | null;
      /** @description Since when it is told nothing: nothing had arrived for five days. The first message that does, a test or one that is sent again, enables it. */
      disabled_at: string | null;
      /** @description What messages are signed with (https://www.standardwebhooks.com); not shown again. */
      secret: string;
    };
    /**
     * @description The openings of a committed input or reference, or of a private dataset, shard by shard, for those who
     *     know the values; or of a committed output, for its readers.
     *
     *     As secret as the values: with an opening, guesses of the values can be checked.
     */
    OpeningFile: {
      /**
       * @description Of the format.
       * @default 3
       * @enum {integer}
       */
      version?: 1 | 3;
      /** @description The proof system; not there before version 3. */
      system?: string | null;
      /** @description How its commitments are made: that of its proof system. */
      commitment_scheme?: string | null;
      /**
       * @description What this document is.
       * @default zenserve openings
       * @constant
       */
      format?: "zenserve openings";
      /**
       * @description What the commitments are to.
       * @enum {string}
       */
      kind: "input" | "reference" | "dataset" | "output";
      /** @description One, or one for each shard. */
      parts: components["schemas"]["OpeningPart"][];
    };
    /** @description One commitment and what opens it. ``values``: of an output, which nothing else shows, the integers. */
    OpeningPart: {
      /** @description In hex, as long as its commitment scheme has it. */
      commitment: string;
      /** @description What shows a commitment to be to values; by commitment scheme. */
      opening: {
        [key: string]: unknown;
      };
      /** @description Of an output: its integers, row-major, from 0. */
      values?: number[] | null;
    };
    /** @description An output of the quantised network beside the same one in floats. */
    OutputReport: {
      /** @description As the network's file has it. */
      name: string;
      /** @description How many values it is of. */
      size: number;
      /** @description How often the largest is the same one; null where it is no class. */
      agreement: number | null;
      /** @description How often which class was taken for which: a row for each class in floats, a column for each in integers; null for many classes. */
      confusion: number[][] | null;
      /** @description Of the integers' values beside the floats'. */
      errors: components["schemas"]["Errors"] | null;
      /** @description Some values in floats and in integers. */
      points: [number, number][];
      /** @description Of the floats beside targets, if there are any. */
      float_loss: components["schemas"]["Errors"] | null;
      /** @description Of the integers beside targets, if there are any. */
      loss: components["schemas"]["Errors"] | null;
    };
    /** @description The model that another one is a version of. ``commitment`` is null where its weights are public. */
    Parent: {
      /** @description Names it at the service that signed. */
      model_id: string;
      /** @description To its weights; null where they are public. */
      commitment: string | null;
    };
    /** @description A problem document. ``code`` is stable; ``field`` names the offending part of the input. */
    Problem: {
      /** @description A URN with the code. */
      type: string;
      /** @description What kind of problem it is. */
      title: string;
      /** @description As the answer's. */
      status: number;
      /** @description Stable: what programs may rely on. */
      code: string;
      /** @description What exactly, and what helps; for people, and may change. */
      detail: string;
      /**
       * @description The part of the request at fault, if one is.
       * @default null
       */
      field?: string | null;
      /**
       * @description Quote it to the operator, whose logs have it.
       * @default null
       */
      request_id?: string | null;
    };
    /**
     * @description Samples of which the models of a bank say what they see: as numbers, or in a file that was brought
     *     before (`PUT /v1/uploads/…`) and is named by its SHA-256, which may have their labels, too.
     */
    ProfileRequest: {
      /** @description Numbers, nested: one input of the models after the other. */
      samples?: unknown[] | null;
      /** @description The class of each, of all classes equally many; not needed where the file has them. */
      labels?: number[] | null;
      /** @description SHA-256 of an upload, in the place of the samples. */
      samples_sha256?: string | null;
    };
    /** @description A proof to hand on. With the key file it names, it is all that a verifier needs. */
    ProofDocument: {
      /**
       * @description What this document is.
       * @default zenserve proof
       * @constant
       */
      format?: "zenserve proof";
      /**
       * @description Of the format.
       * @default 3
       * @enum {integer}
       */
      version?: 2 | 3;
      /** @description What is proven. */
      statement: components["schemas"]["Statement"];
      /** @description SHA-256 in hex. */
      statement_sha256: string;
      /** @description One in hex, or one for each shard. */
      proofs: string[];
    };
    /**
     * @description Prove what a model makes of an input or of a dataset. Each scheme takes its own fields, and no
     *     others.
     */
    ProofRequest: {
      /** @description The registered model: its id, or NAME, NAME@VERSION, NAME@latest. */
      model_id: string;
      /** @description The proof system: the model's, unless another is named, that its twin is of. */
      system?: string | null;
      /**
       * @description What is to be proven; it says which other fields there are.
       * @default inference
       * @enum {string}
       */
      scheme?: "inference" | "recognition" | "accuracy" | "robustness";
      /** @description A text of whoever asks for the proof: it ends up in the statement. */
      challenge?: string | null;
      /** @description Numbers, nested to the shape of the model's input; or, of a model with a table, a cell for each column by its name: a number, a word, true or false, or null for a missing value. */
      input?:
        | unknown[]
        | {
            [key: string]: string | boolean | number | null;
          }
        | null;
      /** @description Whether the proof shows it. private */
      input_privacy?: ("public" | "private") | null;
      /** @description A commitment to the input. */
      input_id?: string | null;
      /** @description Inference: of a network of several, each by its name, in the place of those. */
      inputs?: {
        [key: string]: components["schemas"]["InputRequest"];
      } | null;
      /** @description Inference: what the proof shows of the output. label; values where there are no classes */
      reveal?: ("label" | "logits" | "top" | "values" | "threshold" | "range" | "commitment") | null;
      /** @description Inference: of several outputs, what the proof shows of each that it names. */
      outputs?: {
        [key: string]: "label" | "logits" | "top" | "values" | "threshold" | "range" | "commitment";
      } | null;
      /** @description How many labels, with reveal top or measure top-k; at most ten. */
      top?: number | null;
      /** @description Inference: have verifiers read all public inputs as one number, which spares contracts gas. */
      fold_inputs?: boolean | null;
      /** @description With reveal threshold: whether the output is this or more, in its own units; of several by their names. */
      at_least?:
        | number
        | {
            [key: string]: number;
          }
        | null;
      /** @description With reveal threshold: whether it is this or less, in the place of at_least. */
      at_most?:
        | number
        | {
            [key: string]: number;
          }
        | null;
      /** @description With reveal range: between which of these the output lies, in increasing order. */
      bounds?:
        | number[]
        | {
            [key: string]: number[];
          }
        | null;
      /** @description Recognition: an image; the proof shows its embedding. */
      reference?: unknown[] | null;
      /** @description Recognition: a commitment to a reference. */
      reference_id?: string | null;
      /** @description Prove although the integers' answer differs from the float network's beyond tolerance. */
      accept_difference?: boolean | null;
      /** @description Recognition: the largest squared distance of a match. */
      threshold?: number | null;
      /** @description Robustness, and with measure certified: how far each entry may be changed, in steps of its integers. */
      radius?: number | null;
      /** @description With a radius: of each entry's change, inf; of all, squared and added up, 2. inf */
      norm?: ("inf" | "2") | null;
      /** @description Accuracy: what it is about. */
      dataset_id?: string | null;
      /** @description Accuracy: what is counted or added up. accuracy; mse of a dataset with targets */
      measure?: ("accuracy" | "top-k" | "f1" | "mse" | "mae" | "r2" | "certified") | null;
      /** @description Names and values to find it by, 16 at most; no part of the proof. */
      labels?: {
        [key: string]: string;
      } | null;
      /**
       * @description Among your own jobs; more is sooner.
       * @default 0
       */
      priority?: number;
      /** @description The proof fails if it is not done by then. */
      deadline_seconds?: number | null;
      /** @description When it is to be deleted; else the tenant's rule. */
      expires_in_days?: number | null;
    };
    /** @description A proof, from the request to the result. */
    ProofView: {
      /** @description Names it from now on: `mdl_…`, `dst_…`, `prf_…` or `str_…`. */
      id: string;
      /** @description Whose it is. */
      tenant_id: string;
      /**
       * @description Over for good with `succeeded`, `failed` or `canceled`.
       * @enum {string}
       */
      state: "queued" | "running" | "succeeded" | "failed" | "canceled";
      /** @description Grows with every change. */
      revision: number;
      /** @description What is being done; `shards` or `frames` while a proof or a stream waits for those. */
      stage: string | null;
      /** @description How much of this stage is done. */
      percent: number;
      /** @description How much of the whole work is done, once it is known. */
      overall_percent: number | null;
      /** @description How long it will still take, once it is known. */
      eta_seconds: number | null;
      /** @description How much of that is for keys that are not there yet; 0 where they are. */
      eta_setup_seconds: number | null;
      /** @description What whoever asked for it finds it by: names and their values. */
      labels: {
        [key: string]: string;
      };
      /** @description Among the jobs of its tenant; more is sooner. */
      priority: number;
      /**
       * @description Which workers may take it: those with a GPU, or all.
       * @enum {string}
       */
      queue: "cpu" | "gpu";
      /** @description It fails if it is not over by then. */
      deadline_at: string | null;
      /** @description It is deleted then. */
      expires_at: string | null;
      /** @description Grows when a job is taken up again after a worker was lost. */
      attempt: number;
      /** @description Whether somebody asked to stop it. */
      cancel_requested: boolean;
      /**
       * Format: date-time
       * @description When it was asked for.
       */
      created_at: string;
      /** @description When a worker first took it. */
      started_at: string | null;
      /** @description When it was over. */
      finished_at: string | null;
      /** @description Seconds per stage, for the owner of the job. */
      timings: {
        [key: string]: number;
      };
      /** @description Why the job failed. */
      problem: components["schemas"]["Cause"] | null;
      /** @description The cause of every attempt that did not end well. */
      failures: components["schemas"]["Failure"][];
      /** @description The model that it is about. */
      model_id: string;
      /** @description The proof system that proves it: its model's. */
      system: string;
      /**
       * @description What it proves.
       * @enum {string}
       */
      scheme: "inference" | "recognition" | "accuracy" | "robustness";
      /** @description What an accuracy is on. */
      dataset_id: string | null;
      /** @description The text that whoever asked for it gave. */
      challenge: string | null;
      /** @description The key that it verifies with, once it is there. */
      verification_key_id: string | null;
      /** @description The class that the network chose. */
      label: number | null;
      /** @description What the model's table calls that class, which nothing proves. Not in lists. */
      class_name?: string | null;
      /** @description What was done to the table's columns before the network, and is not proven. Not in lists. */
      unproven?: string | null;
      /** @description All that the proof shows, by name. */
      values: {
        [key: string]: number | number[];
      } | null;
      /** @description What the proof says, in the words of its statement. Not in lists. */
      claim?: string | null;
      /** @description What the integers in `values.logits` stand for, where they are shown. Not in lists. */
      logits?: number[] | null;
      /** @description The commitments to outputs that it published, by their names in the statement, once it succeeded. */
      output_ids?: {
        [key: string]: string;
      } | null;
      /** @description What the integers in `values.values` stand for, where they are shown and have one scale. Not in lists. */
      outputs?: number[] | null;
      /** @description How far the integers' answer to this input is from the float network's. Not in lists. */
      difference?: components["schemas"]["Difference"] | null;
    };
    /**
     * @description The effects of quantisation on the network, measured on the calibration.
     *
     *     Accuracies are given where the calibration came with labels of classes.
     */
    QuantisationReport: {
      /** @description How many samples the calibration has. */
      images: number;
      /** @description Of the network in floats. */
      float_accuracy?: number | null;
      /** @description Of the quantised network, of 1. */
      accuracy?: number | null;
      /** @description How often both say the same. */
      agreement?: number | null;
      /** @description What quantisation costs in accuracy. */
      drop?: number | null;
      /** @description What to do where that is more than a percent. */
      warning?: string | null;
      /** @description Of the network; none for models of older services. */
      outputs?: components["schemas"]["OutputReport"][];
      /** @description In the order of the network, its input first. */
      tensors: components["schemas"]["TensorReport"][];
      /** @description How bits and calibration were chosen; null for models of older services. */
      tuning?: components["schemas"]["Tuning"] | null;
      /** @description How far the file, the float network and the integers are apart; none for models of older services. */
      differences?: components["schemas"]["Difference"][];
    };
    /** @description ``ready`` if nothing fails; ``failing`` says what does and why. */
    Readiness: {
      /** @description Whether it can do its work. */
      ready: boolean;
      /** @description By part, what fails and why; empty where nothing does. */
      failing: {
        [key: string]: string;
      };
    };
    /**
     * @description Signed by the service: this model was registered with it then. See ``zenserve.verifier.receipts``.
     *
     *     ``commitment`` and ``registration``, the SHA-256 of the registration proof's statement, are null where the
     *     weights are public.
     */
    Receipt: {
      /**
       * @description Of the format.
       * @default 3
       * @enum {integer}
       */
      version?: 1 | 3 | 4;
      /** @description The proof system; not there before version 3. */
      system?: string | null;
      /** @description How its commitments are made: that of its proof system. */
      commitment_scheme?: string | null;
      /**
       * @description What this document is.
       * @default zenserve receipt
       * @constant
       */
      format?: "zenserve receipt";
      /** @description Names the model at the service that signed. */
      model_id: string;
      /** @description What its owner called it. */
      name: string;
      /** @description To its weights; null where they are public. */
      commitment: string | null;
      /** @description SHA-256 in hex. */
      network: string;
      /** @description The model that it is a version of. */
      parent: components["schemas"]["Parent"] | null;
      /** @description The models of the same network that were registered before, under other proof systems; not there where there are none. */
      twins?: components["schemas"]["Twin"][] | null;
      /** @description SHA-256 of the statement that its registration proves; null where weights are public. */
      registration: string | null;
      /** @description RFC 3339, UTC, whole seconds. */
      registered_at: string;
      /** @description True where the model takes numbers beyond the range of its calibration as the range's ends; else not there. */
      saturates?: true | null;
      /** @description Ed25519 public key in hex. */
      issuer: string;
      /** @description Ed25519 over all else. */
      signature: string;
    };
    /**
     * @description The numbers of a course: those of ``streams.detector.Detection``, ``patience`` of ``streams.course``,
     *     ``caution`` of ``streams.skew``.
     */
    Rules: {
      /**
       * @description Frames between changes, in the mean.
       * @default 600
       */
      hazard?: number;
      /**
       * @description One label of so many is at random.
       * @default 10
       */
      noise?: number;
      /**
       * @description How many runs are kept.
       * @default 30
       */
      runs?: number;
      /**
       * @description How many of the latest are kept always.
       * @default 12
       */
      young?: number;
      /**
       * @description How many times heavier a later run is that is believed.
       * @default 2
       */
      dominance?: number;
      /**
       * @description How many frames a run has before a model is chosen for it.
       * @default 5
       */
      patience?: number;
      /**
       * @description Of so many frames more, of any class, priors are made.
       * @default 3
       */
      caution?: number;
      /** @description So many frames in a row may have one proof. Not there where each has its own. */
      batch?: number | null;
    };
    /**
     * @description A part of a dataset, proven on its own.
     *
     *     ``dataset``: the commitment to its samples and labels, or targets; ``correct``: to how many of them the
     *     network gets right, or what else its measure counts; ``opening``: of ``dataset``, where that is public.
     */
    Shard: {
      /** @description How many samples are in it. */
      size: number;
      /** @description In hex, as long as its commitment scheme has it. */
      dataset: string;
      /** @description In hex, as long as its commitment scheme has it. */
      correct: string;
      /** @description Of `dataset`, where the dataset is public. */
      opening?: {
        [key: string]: unknown;
      } | null;
    };
    /** @description A part of a dataset. Its opening is public as the dataset is. */
    ShardView: {
      /** @description How many samples are in it. */
      size: number;
      /** @description To its samples and labels: 48 bytes in hex. */
      commitment: string;
      /** @description What shows what the commitment is to; null where the dataset is private. */
      opening: {
        [key: string]: unknown;
      } | null;
    };
    /**
     * @description The statement that a proof shows to be true. Made by ``words.make_statement``; its hash, a public input
     *     of the proof, covers the proof system, too.
     */
    Statement: {
      /**
       * @description Of the format.
       * @default 3
       * @enum {integer}
       */
      version?: 1 | 3;
      /** @description The proof system; not there before version 3. */
      system?: string | null;
      /** @description How its commitments are made: that of its proof system. */
      commitment_scheme?: string | null;
      /**
       * @description What this document is.
       * @default zenserve statement
       * @constant
       */
      format?: "zenserve statement";
      /**
       * @description What kind of claim it is.
       * @enum {string}
       */
      scheme: "registration" | "inference" | "recognition" | "accuracy" | "robustness";
      /** @description What is claimed, in words that verifiers make again. */
      claim: string;
      /** @description The network, or its architecture where the weights are committed. */
      network: string;
      /** @description The public values by name; flat lists, row-major. */
      values: {
        [key: string]: number | number[];
      };
      /** @description What is hidden and fixed: model, input, reference. */
      commitments: {
        [key: string]: string;
      };
      /** @description What an accuracy is on; null in other schemes. */
      dataset: components["schemas"]["Dataset"] | null;
      /** @description The commitment of the model that this one is a version of. */
      parent: string | null;
      /** @description The key that the proof verifies with. */
      verification_key: components["schemas"]["KeyReference"];
      /** @description From whoever asked for the proof, against replay. */
      challenge: string | null;
      /** @description RFC 3339, UTC, whole seconds. */
      made_at: string;
      /** @description True where numbers beyond the range of the model's calibration count as its ends; else not there. */
      saturates?: true | null;
      /** @description In sentences, what is not claimed. */
      does_not_say: string[];
    };
    /** @description A whole stream: with the keys of its bank's models it is all that a verifier needs. */
    StreamFile: {
      /**
       * @description What this document is.
       * @default zenserve stream
       * @constant
       */
      format?: "zenserve stream";
      /**
       * @description Of its format.
       * @default 1
       */
      version?: number;
      /** @description What it is. */
      head: components["schemas"]["Head"];
      /** @description In order; those of a batch are one. */
      frames: (components["schemas"]["ProofDocument"] | components["schemas"]["Missed"])[];
    };
    /**
     * @description Open a stream of frames over a bank of models. The numbers of its course are
     *     ``zenserve.verifier.stream.Rules``:
     *     the same ones for all frames.
     */
    StreamRequest: {
      /** @description Registered models of a bank (`zenserve.circuits.priors`), the most accurate one first, and each cheaper to prove than the one before. */
      models: string[];
      /** @description By which a model is chosen for the classes that are seen. */
      profile: components["schemas"]["ProfileRequest"];
      /**
       * @description What to call it.
       * @default unnamed
       */
      name?: string;
      /**
       * @description The numbers of its course (docs/streams.md).
       * @default {
       *       "hazard": 600,
       *       "noise": 10,
       *       "runs": 30,
       *       "young": 12,
       *       "dominance": 2,
       *       "patience": 5,
       *       "caution": 3
       *     }
       */
      rules?: components["schemas"]["Rules"];
      /** @description A text of whoever asks for the stream: its chain begins with it. */
      challenge?: string | null;
      /**
       * @description Whether proofs show the frames.
       * @default private
       * @enum {string}
       */
      input_privacy?: "public" | "private";
      /** @description A frame that is not proven so long after it was handed in is missed. */
      deadline_seconds?: number | null;
      /**
       * @description How many frames may wait or be proven at once.
       * @default 16
       */
      backlog?: number;
      /** @description Where the rules have a `batch`: how long a frame waits for the others of its batch, but no longer than half of its deadline. 10, unless it is given. */
      batch_seconds?: number | null;
      /** @description Names and values to find it by, 16 at most; no part of its proofs. */
      labels?: {
        [key: string]: string;
      } | null;
      /**
       * @description Among your own jobs; more is sooner.
       * @default 0
       */
      priority?: number;
    };
    /** @description A stream of frames. It is `running`, at the stage `frames`, while it takes some. */
    StreamView: {
      /** @description Names it from now on: `mdl_…`, `dst_…`, `prf_…` or `str_…`. */
      id: string;
      /** @description Whose it is. */
      tenant_id: string;
      /**
       * @description Over for good with `succeeded`, `failed` or `canceled`.
       * @enum {string}
       */
      state: "queued" | "running" | "succeeded" | "failed" | "canceled";
      /** @description Grows with every change. */
      revision: number;
      /** @description What is being done; `shards` or `frames` while a proof or a stream waits for those. */
      stage: string | null;
      /** @description How much of this stage is done. */
      percent: number;
      /** @description How much of the whole work is done, once it is known. */
      overall_percent: number | null;
      /** @description How long it will still take, once it is known. */
      eta_seconds: number | null;
      /** @description How much of that is for keys that are not there yet; 0 where they are. */
      eta_setup_seconds: number | null;
      /** @description What whoever asked for it finds it by: names and their values. */
      labels: {
        [key: string]: string;
      };
      /** @description Among the jobs of its tenant; more is sooner. */
      priority: number;
      /**
       * @description Which workers may take it: those with a GPU, or all.
       * @enum {string}
       */
      queue: "cpu" | "gpu";
      /** @description It fails if it is not over by then. */
      deadline_at: string | null;
      /** @description It is deleted then. */
      expires_at: string | null;
      /** @description Grows when a job is taken up again after a worker was lost. */
      attempt: number;
      /** @description Whether somebody asked to stop it. */
      cancel_requested: boolean;
      /**
       * Format: date-time
       * @description When it was asked for.
       */
      created_at: string;
      /** @description When a worker first took it. */
      started_at: string | null;
      /** @description When it was over. */
      finished_at: string | null;
      /** @description Seconds per stage, for the owner of the job. */
      timings: {
        [key: string]: number;
      };
      /** @description Why the job failed. */
      problem: components["schemas"]["Cause"] | null;
      /** @description The cause of every attempt that did not end well. */
      failures: components["schemas"]["Failure"][];
      /** @description What its owner calls it. */
      name: string;
      /** @description Its bank, the most accurate model first. */
      models: string[];
      /** @description How many the models tell apart. */
      classes: number;
      /**
       * @description Whether proofs show the frames.
       * @enum {string}
       */
      input_privacy: "public" | "private";
      /** @description A frame that is not proven so long after it was handed in is missed. */
      deadline_seconds: number | null;
      /** @description How many frames may wait or be proven at once. */
      backlog: number;
      /** @description So many frames in a row may have one proof; null where each has its own. */
      batch: number | null;
      /** @description How long a frame waits for the others of its batch. */
      batch_seconds: number | null;
      /** @description Since when it takes frames: the keys are there. */
      begun_at: string | null;
      /** @description The text that whoever asked for it gave. */
      challenge: string | null;
      /** @description Of its bank, rules, challenge and beginning: what its chain begins with. */
      head: string | null;
      /** @description Since when it takes no more. */
      ended_at: string | null;
      /** @description How many were handed in; the next one's number. */
      frames: number;
      /** @description How many of these are proven or missed, of the first ones without a gap. */
      frames_over: number;
    };
    /** @description The changes to a tenant. A field that is left out stays as it is. */
    TenantChange: {
      /** @description Jobs that wait or run. */
      max_queued?: number | null;
      /** @description Jobs that run; more wait. */
      max_running?: number | null;
      /** @description Proofs that are over are deleted after as many. */
      retention_days?: number | null;
      /** @description What to call it from now on. */
      name?: string | null;
    };
    /** @description A tenant to be added. */
    TenantRequest: {
      /** @description Jobs that wait or run. */
      max_queued?: number | null;
      /** @description Jobs that run; more wait. */
      max_running?: number | null;
      /** @description Proofs that are over are deleted after as many. */
      retention_days?: number | null;
      /** @description What to call it; no two have one name. */
      name: string;
    };
    /** @description A tenant: the owner of resources, with limits on its use of the service. */
    TenantView: {
      /** @description Names it. */
      id: string;
      /** @description What it is called. */
      name: string;
      /** @description Jobs that wait or run; null: the service's own limit. */
      max_queued: number | null;
      /** @description Jobs that run, more wait; null: no limit. */
      max_running: number | null;
      /** @description Proofs that are over are deleted after as many; null: the service's own rule. */
      retention_days: number | null;
      /** @description Since when its keys are refused (`auth.suspended`) and its jobs not taken. */
      suspended_at: string | null;
      /** @description When its end was asked for: it goes when all that it has is deleted. */
      deleted_at: string | null;
      /**
       * Format: date-time
       * @description When it was added.
       */
      created_at: string;
    };
    /** @description A tensor of the quantised network beside the same one in floats, on the calibration. */
    TensorReport: {
      /** @description As the network's file has it. */
      name: string;
      /** @description What makes it; `input` of the input. */
      operator: string;
      /** @description Precision of its integers. */
      bits: number;
      /** @description The least of the float values. */
      low: number;
      /** @description The largest of them. */
      high: number;
      /** @description The least that the integers stand for. */
      least: number;
      /** @description The largest that they stand for. */
      greatest: number;
      /** @description The function that a table makes it by. */
      function?: string | null;
      /** @description How far the table is from that at most, in steps. */
      rounding?: number | null;
      /** @description Signal-to-noise ratio in dB. */
      snr?: number | null;
      /** @description The largest error, in steps. */
      worst?: number | null;
      /** @description The share of values beyond what the integers stand for. */
      saturated?: number | null;
      /** @description How its values are spread; null for models of older services. */
      histogram?: components["schemas"]["Histogram"] | null;
    };
    /** @description The bits of a tensor and of the weights that make it. */
    TunedLayer: {
      /** @description As the network's file has it. */
      name: string;
      /** @description What makes it; `input` of the input. */
      operator: string;
      /** @description Of the tensor; null of sums without a type. */
      bits: number | null;
      /** @description Null where there are no weights. */
      weight_bits: number | null;
      /** @description Why not fewer; empty where bits were given. */
      why: string;
    };
    /** @description The calibration and the bits that were chosen, and their loss on the calibration data. */
    Tuning: {
      /** @description How ranges were taken. */
      method: string;
      /** @description Whether weights have a scale for each output channel. */
      per_channel: boolean;
      /** @description What loss is of: accuracy, agreement or values. */
      measure: string;
      /** @description In percent. */
      loss: number;
      /** @description What was allowed; null where bits were given. */
      max_loss: number | null;
      /** @description Of the default proof. */
      constraints: number;
      /** @description So many were compared. */
      samples: number;
      /** @description So often it was quantised. */
      trials: number;
      /** @description In the order of the network, its input first. */
      layers: components["schemas"]["TunedLayer"][];
    };
    /**
     * @description The same network as another model's, under another proof system. ``commitment`` is null where its
     *     weights are public.
     */
    Twin: {
      /** @description The proof system that it is of. */
      system: string;
      /** @description Names it at the service that signed. */
      model_id: string;
      /** @description To its weights; null where they are public. */
      commitment: string | null;
    };
    /** @description Register a model's network under another proof system, too. */
    TwinRequest: {
      /** @description The proof system: not the model's own. */
      system: string;
      /** @description Names and values to find it by, 16 at most. */
      labels?: {
        [key: string]: string;
      } | null;
    };
    /** @description A model of the same network, under another proof system. */
    TwinView: {
      /** @description The twin's own. */
      id: string;
      /** @description The proof system that it is of. */
      system: string;
      /** @description In hex, where the weights are committed. */
      commitment: string | null;
    };
    /** @description A file that was brought ahead of the request that names it. */
    UploadView: {
      /** @description Of the file, in hex: what later requests name it by. */
      sha256: string;
      /** @description Of the file, in bytes. */
      size: number;
      /**
       * Format: date-time
       * @description It is deleted then, used or not.
       */
      expires_at: string;
    };
    /** @description The resource use of a tenant's jobs that ended in a range of time, deleted jobs included. */
    UsageView: {
      /** @description Whose they were. */
      tenant_id: string;
      /** @description Its name; null: it is gone. */
      name: string | null;
      /** @description That ended, in whatever state; shards are not counted. */
      jobs: number;
      /** @description Of workers, for what succeeded. */
      seconds: number;
      /** @description Constraints that were proven. */
      rows: number;
      /** @description Networks, samples and inputs, as they were stored for them. */
      bytes: number;
    };
    /**
     * @description The verdict: ``reason`` is a key of ``REASONS``, or one of the proof system's. ``statement`` is null
     *     where the proof is not valid.
     *
     *     ``verified`` and ``not_verified`` say in sentences what a reader may and may not rely on: nothing at all
     *     where it is not valid.
     */
    Verification: {
      /** @description Whether the proof convinces. */
      valid: boolean;
      /** @description Stable; `ok`, or why it does not convince. */
      reason: string;
      /** @description The same for people. */
      detail: string;
      /** @description What to do about a proof that is not valid, where that is more than to distrust it. */
      remedy: string | null;
      /** @description In sentences, what is shown by the names of a table's classes and columns, which nothing proves; empty where it is not valid, or no table was given. */
      named: string[];
      /** @description In sentences, what a reader may rely on; empty where it is not valid. */
      verified: string[];
      /** @description In sentences, what a reader may not rely on. */
      not_verified: string[];
      /** @description The key that it was verified with: is it one that you trust? */
      verification_key: components["schemas"]["KeyReference"];
      /** @description What was proven; null where it is not valid. */
      statement: components["schemas"]["Statement"] | null;
    };
    /** @description For each item, in order, the verdict, or the problem with which ``/v1/verify`` would have answered. */
    VerifyBatch: {
      /** @description As many as there were proofs, in their order. */
      verdicts: (components["schemas"]["Verification"] | components["schemas"]["Problem"])[];
    };
    /** @description Proofs to verify, each with what ``/v1/verify`` takes beside it. */
    VerifyBatchRequest: {
      /** @description What `/v1/verify` takes, for each. */
      proofs: components["schemas"]["VerifyRequest"][];
    };
    /** @description A proof to verify, and the key to verify it with: by id, inline, or by the document's own word. */
    VerifyRequest: {
      /** @description The proof, as it was handed on. */
      proof: components["schemas"]["ProofDocument"];
      /** @description The key to verify it with, by its id; else the document's own word counts. */
      verification_key_id?: string | null;
      /** @description A key file, as it is handed on. */
      verification_key?: components["schemas"]["KeyFile"] | null;
      /**
       * @description What you know from elsewhere, to be found in the statement.
       * @default {}
       */
      expected?: components["schemas"]["Expected"];
      /** @description The registration of a committed model, to be verified with the proof. */
      registration?: components["schemas"]["ProofDocument"] | null;
      /** @description The registration's key; else the one that it names counts. */
      registration_key?: components["schemas"]["KeyFile"] | null;
    };
    /** @description The versions, the kernels and the backends of the running service. */
    Version: {
      /** @description Of the package, and so of its compiler. */
      version: string;
      /** @description The first part of the API's paths. */
      api: string;
      /** @description Of the proofs that it makes and reads. */
      proof_format: number;
      /** @description Of the database, as it is. */
      schema_revision: string | null;
      /** @description Of the source that runs, `-dirty` where it was changed since; if known. */
      commit: string | null;
      /** @description What this process computes with. */
      kernels: string;
      /** @description What the workers prove with. */
      backends: string[];
    };
    /** @description An address to be told. */
    WebhookRequest: {
      /** @description `https://…`; nothing that is reached by it may be private. */
      url: string;
      /**
       * @description What to tell it; everything unless given.
       * @default [
       *       "model.succeeded",
       *       "model.failed",
       *       "model.canceled",
       *       "dataset.succeeded",
       *       "dataset.failed",
       *       "dataset.canceled",
       *       "proof.succeeded",
       *       "proof.failed",
       *       "proof.canceled",
       *       "stream.succeeded",
       *       "stream.failed",
       *       "stream.canceled"
       *     ]
       */
      events?: (
        | "model.succeeded"
        | "model.failed"
        | "model.canceled"
        | "dataset.succeeded"
        | "dataset.failed"
        | "dataset.canceled"
        | "proof.succeeded"
        | "proof.failed"
        | "proof.canceled"
        | "stream.succeeded"
        | "stream.failed"
        | "stream.canceled"
      )[];
    };
    /** @description An address that is told when jobs are over. */
    WebhookView: {
      /** @description Names it. */
      id: string;
      /** @description Where messages go. */
      url: string;
      /** @description What it is told. */
      events: string[];
      /**
       * Format: date-time
       * @description When it was made.
       */
      created_at: string;
      /** @description Until then messages are signed with the secret of before, too: it was rotated. */
      previous_until: string | null;
      /** @description Since when it is told nothing: nothing had arrived for five days. The first message that does, a test or one that is sent again, enables it. */
      disabled_at: string | null;
    };
  };
  responses: never;
  parameters: never;
  requestBodies: never;
  headers: never;
  pathItems: never;
}
export type AttemptView = components["schemas"]["AttemptView"];
export type AuditView = components["schemas"]["AuditView"];
export type Bank = components["schemas"]["Bank"];
export type BankModel = components["schemas"]["BankModel"];
export type CreateDatasetForm = components["schemas"]["createDatasetForm"];
export type CreateModelForm = components["schemas"]["createModelForm"];
export type CallerView = components["schemas"]["CallerView"];
export type Cause = components["schemas"]["Cause"];
export type CeremonyRequest = components["schemas"]["CeremonyRequest"];
export type CeremonySummary = components["schemas"]["CeremonySummary"];
export type CeremonyView = components["schemas"]["CeremonyView"];
export type CircuitRequest = components["schemas"]["CircuitRequest"];
export type CircuitView = components["schemas"]["CircuitView"];
export type CloseRequest = components["schemas"]["CloseRequest"];
export type CommitmentRequest = components["schemas"]["CommitmentRequest"];
export type CommitmentView = components["schemas"]["CommitmentView"];
export type ContractCall = components["schemas"]["ContractCall"];
export type ContractCalls = components["schemas"]["ContractCalls"];
export type ContributionRequest = components["schemas"]["ContributionRequest"];
export type ContributionView = components["schemas"]["ContributionView"];
export type Dataset = components["schemas"]["Dataset"];
export type DatasetSummary = components["schemas"]["DatasetSummary"];
export type DatasetView = components["schemas"]["DatasetView"];
export type DeliveryView = components["schemas"]["DeliveryView"];
export type Difference = components["schemas"]["Difference"];
export type DryRunView = components["schemas"]["DryRunView"];
export type Errors = components["schemas"]["Errors"];
export type Expected = components["schemas"]["Expected"];
export type Failure = components["schemas"]["Failure"];
export type FinishRequest = components["schemas"]["FinishRequest"];
export type FrameRequest = components["schemas"]["FrameRequest"];
export type FrameView = components["schemas"]["FrameView"];
export type HandedStateRequest = components["schemas"]["HandedStateRequest"];
export type Head = components["schemas"]["Head"];
export type Health = components["schemas"]["Health"];
export type Histogram = components["schemas"]["Histogram"];
export type InputRequest = components["schemas"]["InputRequest"];
export type IssuerView = components["schemas"]["IssuerView"];
export type JobEnd = components["schemas"]["JobEnd"];
export type KeyFile = components["schemas"]["KeyFile"];
export type KeyReference = components["schemas"]["KeyReference"];
export type KeyRequest = components["schemas"]["KeyRequest"];
export type KeyView = components["schemas"]["KeyView"];
export type AuditViewListing = components["schemas"]["AuditViewListing"];
export type CeremonySummaryListing = components["schemas"]["CeremonySummaryListing"];
export type CommitmentViewListing = components["schemas"]["CommitmentViewListing"];
export type DatasetSummaryListing = components["schemas"]["DatasetSummaryListing"];
export type DeliveryViewListing = components["schemas"]["DeliveryViewListing"];
export type FrameViewListing = components["schemas"]["FrameViewListing"];
export type IssuerViewListing = components["schemas"]["IssuerViewListing"];
export type KeyViewListing = components["schemas"]["KeyViewListing"];
export type ModelSummaryListing = components["schemas"]["ModelSummaryListing"];
export type ProofViewListing = components["schemas"]["ProofViewListing"];
export type StreamViewListing = components["schemas"]["StreamViewListing"];
export type TenantViewListing = components["schemas"]["TenantViewListing"];
export type UsageViewListing = components["schemas"]["UsageViewListing"];
export type WebhookViewListing = components["schemas"]["WebhookViewListing"];
export type Message = components["schemas"]["Message"];
export type Missed = components["schemas"]["Missed"];
export type ModelChange = components["schemas"]["ModelChange"];
export type ModelSummary = components["schemas"]["ModelSummary"];
export type ModelView = components["schemas"]["ModelView"];
export type NewKeyView = components["schemas"]["NewKeyView"];
export type NewWebhookView = components["schemas"]["NewWebhookView"];
export type OpeningFile = components["schemas"]["OpeningFile"];
export type OpeningPart = components["schemas"]["OpeningPart"];
export type OutputReport = components["schemas"]["OutputReport"];
export type Parent = components["schemas"]["Parent"];
export type Problem = components["schemas"]["Problem"];
export type ProfileRequest = components["schemas"]["ProfileRequest"];
export type ProofDocument = components["schemas"]["ProofDocument"];
export type ProofRequest = components["schemas"]["ProofRequest"];
export type ProofView = components["schemas"]["ProofView"];
export type QuantisationReport = components["schemas"]["QuantisationReport"];
export type Readiness = components["schemas"]["Readiness"];
export type Receipt = components["schemas"]["Receipt"];
export type Rules = components["schemas"]["Rules"];
export type Shard = components["schemas"]["Shard"];
export type ShardView = components["schemas"]["ShardView"];
export type Statement = components["schemas"]["Statement"];
export type StreamFile = components["schemas"]["StreamFile"];
export type StreamRequest = components["schemas"]["StreamRequest"];
export type StreamView = components["schemas"]["StreamView"];
export type TenantChange = components["schemas"]["TenantChange"];
export type TenantRequest = components["schemas"]["TenantRequest"];
export type TenantView = components["schemas"]["TenantView"];
export type TensorReport = components["schemas"]["TensorReport"];
export type TunedLayer = components["schemas"]["TunedLayer"];
export type Tuning = components["schemas"]["Tuning"];
export type Twin = components["schemas"]["Twin"];
export type TwinRequest = components["schemas"]["TwinRequest"];
export type TwinView = components["schemas"]["TwinView"];
export type UploadView = components["schemas"]["UploadView"];
export type UsageView = components["schemas"]["UsageView"];
export type Verification = components["schemas"]["Verification"];
export type VerifyBatch = components["schemas"]["VerifyBatch"];
export type VerifyBatchRequest = components["schemas"]["VerifyBatchRequest"];
export type VerifyRequest = components["schemas"]["VerifyRequest"];
export type Version = components["schemas"]["Version"];
export type WebhookRequest = components["schemas"]["WebhookRequest"];
export type WebhookView = components["schemas"]["WebhookView"];
export interface operations {
  getModel: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        model_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["ModelView"];
        };
      };
    };
  };
  deleteModel: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        model_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      204: {
        content?: never;
      };
    };
  };
  changeModel: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        model_id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["ModelChange"];
      };
    };
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["ModelView"];
        };
      };
    };
  };
  cancelModel: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        model_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["ModelView"];
        };
      };
    };
  };
  retryModel: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        model_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["ModelView"];
        };
      };
    };
  };
  followModel: {
    parameters: {
      query?: never;
      header?: {
        /** @description The revision that was seen last. */
        "Last-Event-ID"?: string | null;
      };
      path: {
        /** @description Its id. */
        model_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "text/event-stream": unknown;
        };
      };
    };
  };
  listModels: {
    parameters: {
      query?: {
        /** @description Only what is in this state. */
        state?: ("queued" | "running" | "succeeded" | "failed" | "canceled") | null;
        /** @description Only what has this name. */
        name?: string | null;
        /** @description How many on a page. */
        limit?: number;
        /** @description The `next_cursor` of the page before. */
        cursor?: string | null;
        /** @description Only what was made after this. */
        created_after?: string | null;
        /** @description Only what was made before this. */
        created_before?: string | null;
        /** @description Only what has this label, `name=value`; of several, all. */
        label?: string[] | null;
      };
      header?: never;
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["ModelSummaryListing"];
        };
      };
    };
  };
  createModel: {
    parameters: {
      query?: never;
      header?: {
        /** @description The same key with the same request gives the same resource, once. */
        "Idempotency-Key"?: string | null;
        /** @description `wait=N`: answer when the job is over, or after N seconds. `dry-run`, of proofs: only say what it would show and take. */
        prefer?: string | null;
      };
      path?: never;
    };
    requestBody?: {
      content: {
        "multipart/form-data": components["schemas"]["createModelForm"];
      };
    };
    responses: {
      /** @description The model is registered, within the time of `Prefer` */
      201: {
        content: {
          "application/json": components["schemas"]["ModelView"];
        };
      };
      /** @description It was asked for, and is not over yet */
      202: {
        content: {
          "application/json": components["schemas"]["ModelView"];
        };
      };
    };
  };
  createTwin: {
    parameters: {
      query?: never;
      header?: {
        /** @description The same key with the same request gives the same resource, once. */
        "Idempotency-Key"?: string | null;
        /** @description `wait=N`: answer when the job is over, or after N seconds. `dry-run`, of proofs: only say what it would show and take. */
        prefer?: string | null;
      };
      path: {
        /** @description Its id. */
        model_id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["TwinRequest"];
      };
    };
    responses: {
      /** @description The twin is registered, within the time of `Prefer` */
      201: {
        content: {
          "application/json": components["schemas"]["ModelView"];
        };
      };
      /** @description It was asked for, and is not over yet */
      202: {
        content: {
          "application/json": components["schemas"]["ModelView"];
        };
      };
    };
  };
  getReceipt: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        model_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["Receipt"];
        };
      };
    };
  };
  getRegistration: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        model_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["ProofDocument"];
        };
      };
    };
  };
  getArchitecture: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        model_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/octet-stream": unknown;
        };
      };
    };
  };
  getReport: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        model_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "text/html": unknown;
        };
      };
    };
  };
  listCommitments: {
    parameters: {
      query?: {
        /** @description Only what is of this model: its id, or NAME, NAME@VERSION. */
        model_id?: string | null;
        /** @description How many on a page. */
        limit?: number;
        /** @description The `next_cursor` of the page before. */
        cursor?: string | null;
        /** @description Only what was made after this. */
        created_after?: string | null;
        /** @description Only what was made before this. */
        created_before?: string | null;
      };
      header?: never;
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["CommitmentViewListing"];
        };
      };
    };
  };
  createCommitment: {
    parameters: {
      query?: never;
      header?: {
        /** @description The same key with the same request gives the same resource, once. */
        "Idempotency-Key"?: string | null;
      };
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["CommitmentRequest"];
      };
    };
    responses: {
      /** @description Successful Response */
      201: {
        content: {
          "application/json": components["schemas"]["CommitmentView"];
        };
      };
    };
  };
  getCommitment: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        commitment_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["CommitmentView"];
        };
      };
    };
  };
  deleteCommitment: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        commitment_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      204: {
        content?: never;
      };
    };
  };
  getCommitmentOpening: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        commitment_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["OpeningFile"];
        };
      };
    };
  };
  getDataset: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        dataset_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["DatasetView"];
        };
      };
    };
  };
  deleteDataset: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        dataset_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      204: {
        content?: never;
      };
    };
  };
  cancelDataset: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        dataset_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["DatasetView"];
        };
      };
    };
  };
  retryDataset: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        dataset_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["DatasetView"];
        };
      };
    };
  };
  followDataset: {
    parameters: {
      query?: never;
      header?: {
        /** @description The revision that was seen last. */
        "Last-Event-ID"?: string | null;
      };
      path: {
        /** @description Its id. */
        dataset_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "text/event-stream": unknown;
        };
      };
    };
  };
  listDatasets: {
    parameters: {
      query?: {
        /** @description Only what is in this state. */
        state?: ("queued" | "running" | "succeeded" | "failed" | "canceled") | null;
        /** @description Only what is of this model: its id, or NAME, NAME@VERSION. */
        model_id?: string | null;
        /** @description Only what has this name. */
        name?: string | null;
        /** @description How many on a page. */
        limit?: number;
        /** @description The `next_cursor` of the page before. */
        cursor?: string | null;
        /** @description Only what was made after this. */
        created_after?: string | null;
        /** @description Only what was made before this. */
        created_before?: string | null;
        /** @description Only what has this label, `name=value`; of several, all. */
        label?: string[] | null;
      };
      header?: never;
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["DatasetSummaryListing"];
        };
      };
    };
  };
  createDataset: {
    parameters: {
      query?: never;
      header?: {
        /** @description The same key with the same request gives the same resource, once. */
        "Idempotency-Key"?: string | null;
        /** @description `wait=N`: answer when the job is over, or after N seconds. `dry-run`, of proofs: only say what it would show and take. */
        prefer?: string | null;
      };
      path?: never;
    };
    requestBody: {
      content: {
        "multipart/form-data": components["schemas"]["createDatasetForm"];
      };
    };
    responses: {
      /** @description The dataset is committed, within the time of `Prefer` */
      201: {
        content: {
          "application/json": components["schemas"]["DatasetView"];
        };
      };
      /** @description It was asked for, and is not over yet */
      202: {
        content: {
          "application/json": components["schemas"]["DatasetView"];
        };
      };
    };
  };
  getDatasetOpening: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        dataset_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["OpeningFile"];
        };
      };
    };
  };
  getProof: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        proof_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["ProofView"];
        };
      };
    };
  };
  deleteProof: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        proof_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      204: {
        content?: never;
      };
    };
  };
  cancelProof: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        proof_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["ProofView"];
        };
      };
    };
  };
  retryProof: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        proof_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["ProofView"];
        };
      };
    };
  };
  followProof: {
    parameters: {
      query?: never;
      header?: {
        /** @description The revision that was seen last. */
        "Last-Event-ID"?: string | null;
      };
      path: {
        /** @description Its id. */
        proof_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "text/event-stream": unknown;
        };
      };
    };
  };
  listProofs: {
    parameters: {
      query?: {
        /** @description Only what is in this state. */
        state?: ("queued" | "running" | "succeeded" | "failed" | "canceled") | null;
        /** @description Only what is of this model: its id, or NAME, NAME@VERSION. */
        model_id?: string | null;
        /** @description Only what is of models of this name, in all versions. */
        name?: string | null;
        /** @description Only proofs of this scheme. */
        scheme?: ("inference" | "recognition" | "accuracy" | "robustness") | null;
        /** @description Frames of streams, too. */
        frames?: boolean;
        /** @description How many on a page. */
        limit?: number;
        /** @description The `next_cursor` of the page before. */
        cursor?: string | null;
        /** @description Only what was made after this. */
        created_after?: string | null;
        /** @description Only what was made before this. */
        created_before?: string | null;
        /** @description Only what has this label, `name=value`; of several, all. */
        label?: string[] | null;
      };
      header?: never;
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["ProofViewListing"];
        };
      };
    };
  };
  createProof: {
    parameters: {
      query?: never;
      header?: {
        /** @description The same key with the same request gives the same resource, once. */
        "Idempotency-Key"?: string | null;
        /** @description `wait=N`: answer when the job is over, or after N seconds. `dry-run`, of proofs: only say what it would show and take. */
        prefer?: string | null;
      };
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["ProofRequest"];
      };
    };
    responses: {
      /** @description A dry run: nothing was made */
      200: {
        content: {
          "application/json": components["schemas"]["DryRunView"];
        };
      };
      /** @description The proof is over, within the time of `Prefer` */
      201: {
        content: {
          "application/json": components["schemas"]["ProofView"];
        };
      };
      /** @description It was asked for, and is not over yet */
      202: {
        content: {
          "application/json": components["schemas"]["ProofView"];
        };
      };
    };
  };
  getProofDocument: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        proof_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["ProofDocument"];
        };
      };
    };
  };
  getCalldata: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        proof_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["ContractCalls"];
        };
      };
    };
  };
  getStream: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        stream_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["StreamView"];
        };
      };
    };
  };
  deleteStream: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        stream_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      204: {
        content?: never;
      };
    };
  };
  cancelStream: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        stream_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["StreamView"];
        };
      };
    };
  };
  retryStream: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        stream_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["StreamView"];
        };
      };
    };
  };
  listStreams: {
    parameters: {
      query?: {
        /** @description Only what is in this state. */
        state?: ("queued" | "running" | "succeeded" | "failed" | "canceled") | null;
        /** @description How many on a page. */
        limit?: number;
        /** @description The `next_cursor` of the page before. */
        cursor?: string | null;
        /** @description Only what was made after this. */
        created_after?: string | null;
        /** @description Only what was made before this. */
        created_before?: string | null;
        /** @description Only what has this label, `name=value`; of several, all. */
        label?: string[] | null;
      };
      header?: never;
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["StreamViewListing"];
        };
      };
    };
  };
  createStream: {
    parameters: {
      query?: never;
      header?: {
        /** @description The same key with the same request gives the same resource, once. */
        "Idempotency-Key"?: string | null;
      };
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["StreamRequest"];
      };
    };
    responses: {
      /** @description It was asked for */
      202: {
        content: {
          "application/json": components["schemas"]["StreamView"];
        };
      };
    };
  };
  listFrames: {
    parameters: {
      query?: {
        /** @description How many on a page. */
        limit?: number;
        /** @description The `next_cursor` of the page before. */
        cursor?: string | null;
      };
      header?: never;
      path: {
        /** @description Its id. */
        stream_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["FrameViewListing"];
        };
      };
    };
  };
  createFrame: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        stream_id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["FrameRequest"];
      };
    };
    responses: {
      /** @description Successful Response */
      202: {
        content: {
          "application/json": components["schemas"]["FrameView"];
        };
      };
    };
  };
  followStream: {
    parameters: {
      query?: never;
      header?: {
        /** @description The number of the frame that was seen last. */
        "Last-Event-ID"?: string | null;
      };
      path: {
        /** @description Its id. */
        stream_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "text/event-stream": unknown;
        };
      };
    };
  };
  endStream: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        stream_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["StreamView"];
        };
      };
    };
  };
  getStreamFile: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        stream_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["StreamFile"];
        };
      };
    };
  };
  getCeremony: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        ceremony_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["CeremonyView"];
        };
      };
    };
  };
  deleteCeremony: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        ceremony_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      204: {
        content?: never;
      };
    };
  };
  cancelCeremony: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        ceremony_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["CeremonyView"];
        };
      };
    };
  };
  followCeremony: {
    parameters: {
      query?: never;
      header?: {
        /** @description The revision that was seen last. */
        "Last-Event-ID"?: string | null;
      };
      path: {
        /** @description Its id. */
        ceremony_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "text/event-stream": unknown;
        };
      };
    };
  };
  getContribution: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        contribution_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["ContributionView"];
        };
      };
    };
  };
  cancelContribution: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        contribution_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["ContributionView"];
        };
      };
    };
  };
  listCeremonies: {
    parameters: {
      query?: {
        /** @description How many on a page. */
        limit?: number;
        /** @description The `next_cursor` of the page before. */
        cursor?: string | null;
        /** @description Only what was made after this. */
        created_after?: string | null;
        /** @description Only what was made before this. */
        created_before?: string | null;
      };
      header?: never;
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["CeremonySummaryListing"];
        };
      };
    };
  };
  openCeremony: {
    parameters: {
      query?: never;
      header?: {
        /** @description The same key with the same request gives the same resource, once. */
        "Idempotency-Key"?: string | null;
        /** @description `wait=N`: answer when the job is over, or after N seconds. `dry-run`, of proofs: only say what it would show and take. */
        prefer?: string | null;
      };
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["CeremonyRequest"];
      };
    };
    responses: {
      /** @description It is open, within the time of `Prefer` */
      201: {
        content: {
          "application/json": components["schemas"]["CeremonyView"];
        };
      };
      /** @description It was asked for, and is not over yet */
      202: {
        content: {
          "application/json": components["schemas"]["CeremonyView"];
        };
      };
    };
  };
  getCeremonyFile: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        ceremony_id: string;
        /** @description Of the file, in hex. */
        sha256: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description The file */
      200: {
        content: {
          "application/octet-stream": string;
        };
      };
      /** @description The part of it that `Range` asks for */
      206: {
        content: {
          "application/octet-stream": string;
        };
      };
    };
  };
  createContribution: {
    parameters: {
      query?: never;
      header?: {
        /** @description The same key with the same request gives the same resource, once. */
        "Idempotency-Key"?: string | null;
        /** @description `wait=N`: answer when the job is over, or after N seconds. `dry-run`, of proofs: only say what it would show and take. */
        prefer?: string | null;
      };
      path: {
        /** @description Its id. */
        ceremony_id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["ContributionRequest"];
      };
    };
    responses: {
      /** @description It was verified, or refused, within that time */
      201: {
        content: {
          "application/json": components["schemas"]["ContributionView"];
        };
      };
      /** @description It was asked for, and is not over yet */
      202: {
        content: {
          "application/json": components["schemas"]["ContributionView"];
        };
      };
    };
  };
  closeCeremony: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        ceremony_id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["CloseRequest"];
      };
    };
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["CeremonyView"];
        };
      };
    };
  };
  finishCeremony: {
    parameters: {
      query?: never;
      header?: {
        /** @description `wait=N`: answer when the job is over, or after N seconds. `dry-run`, of proofs: only say what it would show and take. */
        prefer?: string | null;
      };
      path: {
        /** @description Its id. */
        ceremony_id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["FinishRequest"];
      };
    };
    responses: {
      /** @description Its keys are there, within the time of `Prefer` */
      201: {
        content: {
          "application/json": components["schemas"]["ContributionView"];
        };
      };
      /** @description It was asked for, and is not over yet */
      202: {
        content: {
          "application/json": components["schemas"]["ContributionView"];
        };
      };
    };
  };
  putUpload: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Of the file, in hex. */
        sha256: string;
      };
    };
    requestBody: {
      content: {
        "application/octet-stream": unknown;
      };
    };
    responses: {
      /** @description Successful Response */
      201: {
        content: {
          "application/json": components["schemas"]["UploadView"];
        };
      };
    };
  };
  deleteUpload: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Of the file, in hex. */
        sha256: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      204: {
        content?: never;
      };
    };
  };
  headUpload: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Of the file, in hex. */
        sha256: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content?: never;
      };
    };
  };
  whoami: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["CallerView"];
        };
      };
    };
  };
  listTenants: {
    parameters: {
      query?: {
        /** @description How many on a page. */
        limit?: number;
        /** @description The `next_cursor` of the page before. */
        cursor?: string | null;
      };
      header?: never;
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["TenantViewListing"];
        };
      };
    };
  };
  createTenant: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["TenantRequest"];
      };
    };
    responses: {
      /** @description Successful Response */
      201: {
        content: {
          "application/json": components["schemas"]["TenantView"];
        };
      };
    };
  };
  getTenant: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        tenant_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["TenantView"];
        };
      };
    };
  };
  deleteTenant: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        tenant_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      202: {
        content: {
          "application/json": components["schemas"]["TenantView"];
        };
      };
    };
  };
  changeTenant: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        tenant_id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["TenantChange"];
      };
    };
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["TenantView"];
        };
      };
    };
  };
  suspendTenant: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        tenant_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["TenantView"];
        };
      };
    };
  };
  resumeTenant: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        tenant_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["TenantView"];
        };
      };
    };
  };
  listKeys: {
    parameters: {
      query?: {
        /** @description How many on a page. */
        limit?: number;
        /** @description The `next_cursor` of the page before. */
        cursor?: string | null;
      };
      header?: never;
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["KeyViewListing"];
        };
      };
    };
  };
  createKey: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["KeyRequest"];
      };
    };
    responses: {
      /** @description Successful Response */
      201: {
        content: {
          "application/json": components["schemas"]["NewKeyView"];
        };
      };
    };
  };
  revokeKey: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        key_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      204: {
        content?: never;
      };
    };
  };
  listUsage: {
    parameters: {
      query?: {
        /** @description From then on; the last 30 days unless given. */
        since?: string | null;
        /** @description Before then; now unless given. */
        until?: string | null;
      };
      header?: never;
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["UsageViewListing"];
        };
      };
    };
  };
  exportUsage: {
    parameters: {
      query?: {
        /** @description From then on; the last 30 days unless given. */
        since?: string | null;
        /** @description Before then; now unless given. */
        until?: string | null;
      };
      header?: never;
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "text/csv": unknown;
        };
      };
    };
  };
  listAudit: {
    parameters: {
      query?: {
        /** @description How many on a page. */
        limit?: number;
        /** @description The `next_cursor` of the page before. */
        cursor?: string | null;
      };
      header?: never;
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["AuditViewListing"];
        };
      };
    };
  };
  listWebhooks: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["WebhookViewListing"];
        };
      };
    };
  };
  createWebhook: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["WebhookRequest"];
      };
    };
    responses: {
      /** @description Successful Response */
      201: {
        content: {
          "application/json": components["schemas"]["NewWebhookView"];
        };
      };
    };
  };
  getWebhook: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        webhook_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["WebhookView"];
        };
      };
    };
  };
  deleteWebhook: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        webhook_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      204: {
        content?: never;
      };
    };
  };
  rotateWebhook: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        webhook_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["NewWebhookView"];
        };
      };
    };
  };
  testWebhook: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        webhook_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      202: {
        content: {
          "application/json": components["schemas"]["DeliveryView"];
        };
      };
    };
  };
  listDeliveries: {
    parameters: {
      query?: {
        /** @description How many on a page. */
        limit?: number;
        /** @description The `next_cursor` of the page before. */
        cursor?: string | null;
      };
      header?: never;
      path: {
        /** @description Its id. */
        webhook_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["DeliveryViewListing"];
        };
      };
    };
  };
  redeliverMessage: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description Its id. */
        webhook_id: string;
        /** @description Its id. */
        delivery_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      202: {
        content: {
          "application/json": components["schemas"]["DeliveryView"];
        };
      };
    };
  };
  getVerificationKey: {
    parameters: {
      query?: never;
      header?: {
        /** @description The `ETag` of the copy that you have. */
        "if-none-match"?: string | null;
      };
      path: {
        /** @description SHA-256 in hex. */
        key_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["KeyFile"];
        };
      };
      /** @description The caller's copy is good */
      304: {
        content?: never;
      };
    };
  };
  getArchitectureOfKey: {
    parameters: {
      query?: never;
      header?: {
        /** @description The `ETag` of the copy that you have. */
        "if-none-match"?: string | null;
      };
      path: {
        /** @description SHA-256 in hex. */
        key_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/octet-stream": unknown;
        };
      };
      /** @description The caller's copy is good */
      304: {
        content?: never;
      };
    };
  };
  getContractOfKey: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description SHA-256 in hex. */
        key_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "text/plain": string;
        };
      };
    };
  };
  getCircuitOfKey: {
    parameters: {
      query?: never;
      header?: {
        /** @description The `ETag` of the copy that you have. */
        "if-none-match"?: string | null;
      };
      path: {
        /** @description SHA-256 in hex. */
        key_id: string;
      };
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/octet-stream": unknown;
        };
      };
      /** @description The part of it that `Range` asks for */
      206: {
        content: {
          "application/octet-stream": string;
        };
      };
      /** @description The caller's copy is good */
      304: {
        content?: never;
      };
    };
  };
  listIssuers: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["IssuerViewListing"];
        };
      };
    };
  };
  verifyProof: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["VerifyRequest"];
      };
    };
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["Verification"];
        };
      };
    };
  };
  verifyBatch: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["VerifyBatchRequest"];
      };
    };
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["VerifyBatch"];
        };
      };
    };
  };
  getHealth: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["Health"];
        };
      };
    };
  };
  getReadiness: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["Readiness"];
        };
      };
    };
  };
  getMetrics: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Prometheus' text format */
      200: {
        content: {
          "text/plain": unknown;
        };
      };
    };
  };
  getVersion: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        content: {
          "application/json": components["schemas"]["Version"];
        };
      };
    };
  };
  jobOver: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["Message"];
      };
    };
    responses: {
      /** @description Successful Response */
      204: {
        content?: never;
      };
    };
  };
}
