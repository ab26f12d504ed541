resource "gantry_storage_volume" "data" {
  pool = "default"
  name = "data"
}
