#!/bin/sh
# Makes a key and a certificate for each team. In practice a team makes its own, and gives only the certificate to the administrator.
set -eu
cd "$(dirname "$0")"
for team in red blue; do
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 -subj "/CN=$team" \
    -keyout "$team.key" -out "$team.crt" 2>/dev/null
  chmod 600 "$team.key"
  echo "$team.crt"
done
