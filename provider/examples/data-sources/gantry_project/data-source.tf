data "gantry_project" "team" {
  name = "team"
}
