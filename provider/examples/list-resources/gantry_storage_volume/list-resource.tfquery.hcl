list "gantry_storage_volume" "all" {
  provider = gantry

  config {
    pool = "default"
  }
}
