#!/bin/sh
# Runs gantry with the certificate of a team, in its project: as.sh TEAM VERB [ARGUMENTS]
set -eu
folder=$(dirname "$0")
team=$1
verb=$2
shift 2
exec gantry "$verb" --host "${TEAMS_HOST:-https://127.0.0.1:8443}" --server-cert "$folder/server.crt" \
  --client-cert "$folder/$team.crt" --client-key "$folder/$team.key" --project "$team" "$@"
