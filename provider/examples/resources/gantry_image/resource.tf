resource "gantry_image" "base" {
  source = { type = "remote", server = "https://images.example.org:8443", protocol = "lxd", alias = "debian/12" }
}
