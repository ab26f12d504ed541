list "gantry_snapshot" "all" {
  provider = gantry

  config {
    container = "default"
  }
}
