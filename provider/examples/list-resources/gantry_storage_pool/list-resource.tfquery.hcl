list "gantry_storage_pool" "all" {
  provider = gantry
}
