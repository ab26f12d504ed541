list "gantry_image" "all" {
  provider = gantry
}
