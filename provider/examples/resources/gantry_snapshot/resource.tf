resource "gantry_snapshot" "before" {
  container = "web"
  name      = "before-upgrade"
}
