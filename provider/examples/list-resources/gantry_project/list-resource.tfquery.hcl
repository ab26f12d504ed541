list "gantry_project" "all" {
  provider = gantry
}
