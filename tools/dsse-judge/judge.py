"""Judges DSSE envelopes with securesystemslib.

Reads one JSON object per line and answers each with one:

{"envelope": {...}, "keys": [{"keyid": "...", "public": "<hex of an Ed25519 key>"}]}
    {"accepted": [keyid, ...], "payload": "<base64>"}, or {"refused": "<name of the error>"}
{"sign": {"payload": "<base64>", "payload_type": "..."}, "seed": "<hex>", "keyid": "..."}
    {"envelope": {...}}
"""

import base64
import json
import sys

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from securesystemslib.dsse import Envelope
from securesystemslib.signer import CryptoSigner, SSlibKey


def key_of(keyid, public):
    return SSlibKey(keyid, "ed25519", "ed25519", {"public": public})


def judge(asked):
    if "sign" in asked:
        private = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(asked["seed"]))
        public = private.public_key().public_bytes_raw().hex()
        signer = CryptoSigner(private, key_of(asked["keyid"], public))
        payload = base64.b64decode(asked["sign"]["payload"])
        envelope = Envelope(payload, asked["sign"]["payload_type"], {})
        envelope.sign(signer)
        return {"envelope": envelope.to_dict()}
    try:
        envelope = Envelope.from_dict(asked["envelope"])
        accepted = envelope.verify([key_of(**key) for key in asked["keys"]], 1)
    except Exception as error:  # pylint: disable=broad-except
        return {"refused": type(error).__name__}
    payload = base64.b64encode(envelope.payload).decode()
    return {"accepted": sorted(key.keyid if hasattr(key, "keyid") else key for key in accepted), "payload": payload}


for line in sys.stdin:
    print(json.dumps(judge(json.loads(line))))
