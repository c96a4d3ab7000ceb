"""What people are asked at the terminal before something happens."""
