list "gantry_image_alias" "all" {
  provider = gantry
}
