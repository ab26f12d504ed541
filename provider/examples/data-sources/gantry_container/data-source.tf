data "gantry_container" "db" {
  name = "db"
}
