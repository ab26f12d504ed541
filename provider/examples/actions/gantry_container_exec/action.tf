action "gantry_container_exec" "reload" {
  config {
    container = "web"
    command   = ["nginx", "-s", "reload"]
  }
}
