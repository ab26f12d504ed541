ephemeral "gantry_container_exec" "join" {
  container = "server"
  command   = ["kubeadm", "token", "create", "--ttl", "15m"]
}
