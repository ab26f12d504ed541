data "gantry_image" "base" {
  alias = "debian/12"
}
