resource "gantry_profile" "web" {
  name        = "web"
  description = "Web servers"
  config = {
    "limits.memory" = "256MiB"
  }
  devices = {
    root = { type = "disk", path = "/", pool = "default" }
  }
}
