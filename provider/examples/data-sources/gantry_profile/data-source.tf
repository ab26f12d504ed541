data "gantry_profile" "default" {
  name = "default"
}
