list "gantry_certificate" "all" {
  provider = gantry
}
