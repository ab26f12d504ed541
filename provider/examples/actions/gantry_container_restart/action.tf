action "gantry_container_restart" "web" {
  config {
    container = "web"
  }
}
