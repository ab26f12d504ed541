list "gantry_profile" "all" {
  provider = gantry
}
