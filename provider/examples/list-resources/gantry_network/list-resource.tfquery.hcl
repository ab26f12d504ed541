list "gantry_network" "all" {
  provider = gantry
}
