data "gantry_storage_pool" "default" {
  name = "default"
}
