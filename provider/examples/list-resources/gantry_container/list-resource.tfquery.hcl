list "gantry_container" "all" {
  provider = gantry
}
