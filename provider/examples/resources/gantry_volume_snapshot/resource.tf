resource "gantry_volume_snapshot" "before" {
  pool   = "default"
  volume = "data"
  name   = "before-upgrade"

  expires_at = "2030-01-31T12:00:00Z"
}
