resource "gantry_container_device" "data" {
  container  = "web"
  name       = "data"
  type       = "disk"
  properties = { pool = "default", source = "data", path = "/srv/data" }
}
