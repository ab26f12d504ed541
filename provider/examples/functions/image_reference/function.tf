output "source" {
  value = provider::gantry::image_reference("https://images.example.org:8443/debian/12")
}
