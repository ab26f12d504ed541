resource "gantry_certificate" "ci" {
  name        = "ci"
  certificate = file("${path.module}/ci.crt")
}
