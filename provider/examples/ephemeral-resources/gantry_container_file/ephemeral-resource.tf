ephemeral "gantry_container_file" "token" {
  container = "server"
  path      = "/var/lib/rancher/k3s/server/node-token"
}
