"""The actions that written workflows use, pinned by hash.

They are the pins of this repository's own .github, where the update bot keeps them; a test holds the two together.
"""

from __future__ import annotations

CHECKOUT = "actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd # v6.0.2"
SETUP_PYTHON = "actions/setup-python@a309ff8b426b58ec0e2a45f0f869d46889d02405 # v6.2.0"
UPLOAD = "actions/upload-artifact@bbbca2ddaa5d8feaa63e36b76fdaad77386f024f # v7.0.0"
DOWNLOAD = "actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c # v8.0.1"

# GitHub Enterprise Server keeps artifacts by an older protocol; GitHub itself refuses jobs that name these.
UPLOAD_ENTERPRISE = "actions/upload-artifact@c6a3b2bd78b3985e4b2f15397fec357f0fd808de # v3.2.2-node20"
DOWNLOAD_ENTERPRISE = "actions/download-artifact@ad191675b41f6a5b46da9a048cb6893812da158b # v3.1.0-node20"

# This repository has no App of its own, so nothing here uses this one.
APP_TOKEN = "actions/create-github-app-token@bcd2ba49218906704ab6c1aa796996da409d3eb1 # v3.2.0"  # noqa: S105 -- a name
