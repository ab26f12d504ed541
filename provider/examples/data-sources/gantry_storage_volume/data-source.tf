data "gantry_storage_volume" "data" {
  pool = "default"
  name = "data"
}
