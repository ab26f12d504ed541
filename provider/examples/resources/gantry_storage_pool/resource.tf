resource "gantry_storage_pool" "fast" {
  name   = "fast"
  driver = "dir"
}
