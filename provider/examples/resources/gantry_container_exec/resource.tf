resource "gantry_container_exec" "release" {
  container = gantry_container.web.name
  command   = ["cat", "/etc/os-release"]
  triggers  = { container = gantry_container.web.created_at }
}
