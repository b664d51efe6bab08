# rankgate for pipelines without a Python of their own:
#
#   docker build -t rankgate .
#   docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/repo" rankgate check --base origin/main -o report.json
#
# Dependabot updates the base image, tag and digest together. What pip installs is in locks/, with hashes.
FROM python:3.13.15-slim-trixie@sha256:9d2e5553305c7c7b0097999bb17187c69b921ccd6bc9d40e4bb5ebe652c00285 AS build
WORKDIR /src
COPY LICENSE README.md pyproject.toml ./
COPY locks locks
COPY src src
# Everything in /wheels has one of the hashes of the locks, or is rankgate itself; nothing after the first line has an index.
# hadolint ignore=DL3013
RUN python -m pip download --no-cache-dir --require-hashes --only-binary :all: --dest /wheels \
      -r locks/base.lock -r locks/cloud.lock -r locks/html.lock -r locks/parquet.lock \
 && python -m pip install --no-cache-dir --no-index --find-links /wheels hatchling \
 && python -m hatchling build --target wheel --directory /wheels \
 && python -m venv --without-pip /opt/rankgate \
 && python -m pip --python /opt/rankgate install --no-cache-dir --no-index --find-links /wheels 'rankgate[cloud,html,parquet]'

FROM python:3.13.15-slim-trixie@sha256:9d2e5553305c7c7b0097999bb17187c69b921ccd6bc9d40e4bb5ebe652c00285
# Git reads the base of a pull request. Without this line it refuses a mounted repository that a user of the host owns.
# No version is named of it: Debian keeps one at a time, so that an older one could not be installed.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends git \
 && rm -rf /var/lib/apt/lists/* \
 && git config --system --add safe.directory '*' \
 && useradd --uid 1000 --create-home rankgate
COPY --from=build /opt/rankgate /opt/rankgate
ENV PATH=/opt/rankgate/bin:$PATH
USER 1000:1000
WORKDIR /repo
ENTRYPOINT ["rankgate"]
