resource "gantry_project" "team" {
  name = "team"
  config = {
    "features.images" = "false"
  }
}
