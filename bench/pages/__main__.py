from bench.pages import main

main()
